import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { request as undiciRequest } from 'undici'
import { audioContainer } from '../../src/kinds/transcription/audio-container.ts'
import { soundSeconds, wavFile, audioForm } from '../harness/audio-files.ts'
import { gateway, type Answer } from '../harness/gateway.ts'
import { recordedCases, type RecordedCase } from '../harness/recording.ts'
import { type ReplayOptions, startReplayUpstream } from '../harness/replay.ts'

const SECONDS = 7.3
const VARIANTS = [{}, { split: 'bytes:7' }, { gzip: 1 }, { chunked: 1 }, { split: 'random', seed: 3 }] as const
/** Adapter and upstream model of a recorded case. */
const ENDPOINTS: Readonly<
  Record<string, { readonly adapter: string; readonly model: string; readonly timed: boolean }>
> = {
  'openai-transcriptions': { adapter: 'openai', model: 'whisper-1', timed: true },
  'deepgram-listen': { adapter: 'deepgram', model: 'nova-3', timed: true },
  'elevenlabs-stt': { adapter: 'elevenlabs', model: 'scribe_v1', timed: true },
  'audio-bytes': { adapter: 'openai', model: 'tts-1', timed: true },
}

const cases = recordedCases(({ name }) => /\/(speech|transcriptions|translations)\//.test(name))

const replay = await startReplayUpstream()
const adapters = [...new Set(Object.values(ENDPOINTS).map(({ adapter }) => adapter))]
const rows = Object.entries(ENDPOINTS).map(([protocol, { adapter, model }]) =>
  protocol === 'audio-bytes'
    ? `  - { id: test/${protocol}, type: tts, endpoints: [{ provider: ${adapter}, model: ${model}, price: { currency: RUB, characters: 1000 } }] }`
    : `  - { id: test/${protocol}, type: transcription, endpoints: [{ provider: ${adapter}, model: ${model}, price: { currency: RUB, second: 0.01 } }] }
  - { id: test/${protocol}-tokens, type: transcription, max_completion_tokens: 2000, endpoints: [{ provider: ${adapter}, model: ${model}, price: { currency: RUB, prompt: 1, audio: 10, completion: 1000 } }] }`,
)
const tollgate = await gateway({
  catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
${adapters.map((adapter) => `  ${adapter}: { name: ${adapter}, adapter: ${adapter}, base_url: ${replay.url}/slot/recorded, api_key: upstream-canary-key }`).join('\n')}
models:
${rows.join('\n')}
`,
})
const key = (await tollgate.createAccount({ balance: 1_000 })).key

function isTranslation({ name }: RecordedCase): boolean {
  return name.includes('/translations/')
}

async function transcribe(
  recorded: RecordedCase,
  fields: Record<string, string>,
  opts: ReplayOptions = {},
  suffix = '',
): Promise<Answer> {
  await replay.slot('recorded', [{ case: recorded.name, opts }])
  const path = isTranslation(recorded) ? '/v1/audio/translations' : '/v1/audio/transcriptions'
  return tollgate.request('POST', path, {
    key,
    ...audioForm({ model: `test/${recorded.protocol}${suffix}`, ...fields }, { bytes: wavFile(SECONDS) }),
  })
}

async function lastLog(): Promise<Record<string, unknown>> {
  return (await tollgate.get('/v1/generation?limit=1', key)).body.logs[0]
}

/**
 * Tenths of a second that are charged for a case: the provider's duration, or the file's unless the provider bills
 * clearly more.
 */
function deciseconds({ expected }: RecordedCase): number {
  const billed = expected.usage_native?.['seconds'] ?? expected.usage_native?.['prompt_audio_seconds']
  const seconds = expected.duration ?? (typeof billed === 'number' && billed > SECONDS + 1 ? billed : SECONDS)
  return Math.ceil(seconds * 10 - 1e-9)
}

for (const recorded of cases.filter(({ protocol }) => protocol !== 'audio-bytes')) {
  const { expected } = recorded
  const type = isTranslation(recorded) ? 'translation' : 'transcription'

  test(`${recorded.name}: text, usage, exact charge and one row, however its bytes are cut`, async () => {
    for (const opts of VARIANTS) {
      const before = (await tollgate.get('/v1/generation?limit=1', key)).body.total
      const answer = await transcribe(recorded, {}, opts)
      assert.equal(answer.status, 200, `${JSON.stringify(opts)} ${answer.text}`)
      assert.equal(answer.body.text, expected.text)
      const tenths = deciseconds(recorded)
      assert.deepEqual(answer.body.usage, {
        type: 'duration',
        seconds: tenths / 10,
        cost: (tenths * 1_000) / 1_000_000,
        currency: 'RUB',
      })
      const log = await lastLog()
      assert.equal(log['type'], type)
      assert.equal(log['total_cost'], tenths / 1_000)
      assert.equal(log['generation_id'], answer.headers['x-generation-id'])
      assert.deepEqual([log['status'], log['input_tokens'], log['output_tokens']], ['completed', 0, 0])
      assert.equal((await tollgate.get('/v1/generation?limit=1', key)).body.total, before + 1)
    }
  })

  test(`${recorded.name}: verbose_json, srt and vtt hold all that was said`, async () => {
    const verbose = await transcribe(recorded, {
      response_format: 'verbose_json',
      'timestamp_granularities[]': 'word,segment',
    })
    assert.equal(verbose.status, 200, verbose.text)
    assert.equal(verbose.body.task, isTranslation(recorded) ? 'translate' : 'transcribe')
    assert.equal(verbose.body.text, expected.text)
    if (expected.duration !== undefined) assert.equal(verbose.body.duration, expected.duration)
    if (expected.language !== undefined)
      assert.equal(verbose.body.language, isTranslation(recorded) ? 'english' : expected.language)
    if ((expected.segments ?? 0) > 0) assert.equal(verbose.body.segments.length, expected.segments)
    if (recorded.protocol === 'openai-transcriptions' && (expected.words ?? 0) > 0)
      assert.equal(verbose.body.words.length, expected.words)
    assert.ok(verbose.body.segments.every((segment: { start: number; end: number }) => segment.start <= segment.end))
    for (const format of ['srt', 'vtt']) {
      const answer = await transcribe(recorded, { response_format: format })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
      assert.match(
        answer.text,
        format === 'srt' ? /^1\n\d\d:\d\d:\d\d,\d{3} --> / : /^WEBVTT\n\n\d\d:\d\d:\d\d\.\d{3} --> /,
      )
      assert.equal(answer.text.match(/ --> /g)?.length, verbose.body.segments.length)
    }
    assert.equal((await transcribe(recorded, { response_format: 'text' })).text, expected.text)
  })

  test(`${recorded.name}: a model sold by tokens is charged by the provider's, or by ours`, async () => {
    const answer = await transcribe(recorded, {}, {}, '-tokens')
    assert.equal(answer.status, 200, answer.text)
    const { usage } = answer.body
    assert.equal(usage.type, 'tokens')
    assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens)
    const log = await lastLog()
    assert.deepEqual([log['input_tokens'], log['output_tokens']], [usage.input_tokens, usage.output_tokens])
    if (expected.usage === null || expected.usage === undefined) return assert.equal(log['billing_basis'], 'counted')
    assert.equal(log['billing_basis'], 'provider_usage')
    assert.deepEqual(
      [usage.input_tokens, usage.output_tokens],
      [expected.usage.prompt_tokens, expected.usage.completion_tokens],
    )
    assert.equal(usage.cost, (10 * expected.usage.prompt_tokens + 1_000 * expected.usage.completion_tokens) / 1_000_000)
  })
}

for (const recorded of cases.filter(({ protocol }) => protocol === 'audio-bytes')) {
  test(`${recorded.name}: byte for byte, charged by characters, however its bytes are cut`, async () => {
    const { expected } = recorded
    assert.equal(audioContainer(recorded.body), 'mp3')
    assert.equal(await soundSeconds(recorded.body), 1.416)
    for (const opts of VARIANTS) {
      await replay.slot('recorded', [{ case: recorded.name, opts }])
      const response = await undiciRequest(`${tollgate.url}/v1/audio/speech`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'test/audio-bytes', input: 'Это речь 🙂', voice: 'nova' }),
      })
      const bytes = Buffer.from(await response.body.arrayBuffer())
      assert.equal(response.statusCode, 200, bytes.toString('utf8'))
      assert.equal(response.headers['content-type'], 'audio/mpeg')
      assert.equal(response.headers['content-length'], undefined)
      assert.equal(bytes.length, expected.bytes)
      assert.equal(createHash('sha256').update(bytes).digest('hex'), expected.sha256)
      const log = await lastLog()
      // Ten code points at 1,000 µRUB.
      assert.deepEqual(
        [log['type'], log['status'], log['total_cost'], log['input_tokens']],
        ['tts', 'completed', 0.01, 0],
      )
      assert.equal(log['generation_id'], response.headers['x-generation-id'])
    }
  })
}

test('there are recorded cases of all three kinds, and no key has leaked', async () => {
  assert.deepEqual(
    new Set(cases.map(({ name }) => name.split('/')[1])),
    new Set(['transcriptions', 'translations', 'speech']),
  )
  assert.doesNotMatch(tollgate.logs().join('\n'), /upstream-canary-key/)
})
