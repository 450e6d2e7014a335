import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import type { GenerationRecord } from '../../src/ledger/generation-record.ts'
import { wavFile } from '../harness/audio-files.ts'
import { until } from '../harness/patience.ts'
import { movingGateway } from '../harness/gateway.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'

/**
 * A provider that has sent the head of an answer has made it, and bills it: losing it on the way is the operator's
 * loss, for every kind that is charged by units (guarantees.md 5).
 */

type UnitKindName = Exclude<
  GenerationRecord['type'],
  'chat' | 'completions' | 'responses' | 'messages' | 'generate_content' | 'cohere_chat' | 'video'
>

interface Case {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** In rubles. */
  readonly lost: number
}

const input_audio = { data: wavFile(2).toString('base64'), format: 'wav' }
/** The cost of each kind, computed by hand from the prices below. */
const CASES: Readonly<Record<UnitKindName, Case>> = {
  // Two tokens.
  embeddings: { path: '/v1/embeddings', body: { model: 'test/embeddings', input: 'Hello world' }, lost: 2 },
  // One search.
  rerank: { path: '/v1/rerank', body: { model: 'test/rerank', query: 'q', documents: ['a', 'b'] }, lost: 0.2 },
  // One request.
  moderation: { path: '/v1/moderations', body: { model: 'test/moderation', input: ['a', 'b'] }, lost: 0.3 },
  // Three images.
  image: { path: '/v1/images/generations', body: { model: 'test/image', prompt: 'x', n: 3 }, lost: 4.5 },
  // Five characters.
  tts: { path: '/v1/audio/speech', body: { model: 'test/speech', input: 'Hello', voice: 'alloy' }, lost: 0.5 },
  // Two seconds.
  transcription: { path: '/v1/audio/transcriptions', body: { model: 'test/whisper', input_audio }, lost: 0.02 },
  translation: { path: '/v1/audio/translations', body: { model: 'test/whisper', input_audio }, lost: 0.02 },
}

const upstream = await startScriptedUpstream()
const model = (id: string, type: string, price: string): string =>
  `  - { id: test/${id}, type: ${type}, tokenizer: o200k_base, endpoints: [{ provider: p, model: whisper-1, price: { currency: RUB, ${price} } }] }\n`
const server = await movingGateway({
  catalog: `
markup: 3
rate_limit: { requests: 100000, window: 60 }
providers:
  p: { adapter: openai, base_url: '${upstream.url}/v1', api_key: k, timeouts: { first_byte: 600, progress: 1 } }
models:
${model('embeddings', 'embeddings', 'prompt: 1000000')}${model('rerank', 'rerank', 'search: 0.2')}${model('moderation', 'moderation', 'request: 0.3')}${model('image', 'image', 'image_output: 1.5')}${model('speech', 'tts', 'characters: 100000')}${model('whisper', 'transcription', 'second: 0.01')}`,
})

const HEAD = { 'content-type': 'application/json', 'content-length': '1000' }
const begun = (response: ServerResponse, then: () => void): void => {
  response.writeHead(200, HEAD)
  response.write('{ "', then)
}

/** Ways in which a provider's answer is lost, and whether it was made. */
const LOSSES: readonly (readonly [string, boolean, (response: ServerResponse) => void])[] = [
  ['breaks off', true, (response) => begun(response, () => response.socket?.destroy())],
  ['stands still', true, (response) => begun(response, () => undefined)],
  ['is nonsense', true, (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{ "')],
  [
    'is an error',
    false,
    (response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end('{"error":{"message":"no","code":500}}'),
  ],
  ['breaks off before its head', false, (response) => void response.socket?.destroy()],
]

for (const [type, { path, body, lost }] of Object.entries(CASES)) {
  for (const [how, isMade, answer] of LOSSES) {
    test(`${type}: an answer that ${how} is free, and ${isMade ? 'what the provider bills' : 'nothing'} is booked as the operator's loss`, async () => {
      const account = await server.createAccount({ balance: 100 })
      upstream.answer(answer)
      let status = 0
      void server.post(path, account.key, body).then((answered) => (status = answered.status))
      await until(20_000, 'the answer', () => {
        // Beyond the limit of a stalled answer, far below that of one that has not begun.
        server.clock.advance(500)
        return status !== 0
      })
      assert.ok(status >= 500, String(status))
      let rows: readonly Readonly<Record<string, unknown>>[] = []
      await until(20_000, 'the log row', async () => {
        rows = (await server.admin('GET', `/admin/v1/generations?account=${account.id}`)).body.data
        return rows.length === 1
      })
      const [row = {}] = rows
      assert.deepEqual(
        [row['type'], row['billing_basis'], row['total_cost'], row['insured']],
        [type, 'free', 0, isMade ? lost : 0],
      )
    })
  }
}
