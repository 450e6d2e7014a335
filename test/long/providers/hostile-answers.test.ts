import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { foldBody } from '../../harness/chat-fold.ts'
import { checkStream, chunksOf, eventsOf, foldedCohere, put } from '../../harness/protocol-folds.ts'
import { damaged } from './damaged-answer.ts'
import { form } from '../../harness/form.ts'
import { loggedRow } from '../../harness/money-check.ts'
import { recordedCases, type RecordedCase } from '../../harness/recording.ts'
import { startScriptedUpstream } from '../../harness/scripted-upstream.ts'
import { serve } from '../../harness/gateway.ts'
import { Random } from '../../sim/random.ts'

/** A parsed answer; a test that reads a field which is not there fails by itself. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** What a client knows at the end of an answer. */
interface Told {
  /** The type or the message of the error that ended it; null = it is whole. */
  readonly error: string | null
  readonly text: string
  /** In RUB; null = none was told. */
  readonly cost: number | null
}

/** A client's protocol: how it asks, and how it reads a stream or a whole answer up to its end. */
interface Door {
  ask(model: string, stream: boolean): readonly [path: string, body: Json]
  stream(raw: string): Told
  whole(body: Json): Told
  /** The adapter whose answers reach this client as they came, with whatever is wrong in them but at their end. */
  readonly unfiltered?: readonly [adapter: string, end: (raw: string) => Told]
}

/** Adapters by the protocol of the recorded cases. */
const ADAPTERS: Readonly<Record<string, string>> = {
  'openai-chat': 'openai',
  'anthropic-messages': 'anthropic',
  'gemini-generate': 'gemini',
  'bedrock-converse': 'bedrock',
  'cohere-v2-chat': 'cohere',
  'ollama-chat': 'ollama',
  'openai-responses': 'native',
}
const SECRET = 'upstream-canary-key'
const MESSAGES = [{ role: 'user', content: 'Say it.' }]

const DOORS: Readonly<Record<string, Door>> = {
  chat: {
    ask: (model, stream) => [
      '/v1/chat/completions',
      { model, stream, messages: MESSAGES, ...(stream ? { stream_options: { include_usage: true } } : {}) },
    ],
    stream: (raw) => {
      const answer = foldBody(200, raw, { 'content-type': 'text/event-stream' })
      assert.ok(answer.done && raw.endsWith('data: [DONE]\n\n'))
      const { text = '', refusal = '', finish = null } = answer.choices.get(0) ?? {}
      assert.ok(answer.error !== null || finish !== null, 'it has an error or a reason')
      // The usage of an answer is `unknown` to the fold.
      return { error: answer.error?.message ?? null, text: text + refusal, cost: (answer.usage as Json)?.cost ?? null }
    },
    whole: ({ choices: [{ message, finish_reason: finish }], usage }) => {
      // Tokens that say nothing have no reason either.
      assert.ok(typeof finish === 'string' || (message.content ?? '') === '')
      return { error: null, text: (message.content ?? '') + (message.refusal ?? ''), cost: usage.cost }
    },
  },
  completions: {
    ask: (model, stream) => ['/v1/completions', { model, stream, prompt: 'Say it.' }],
    stream: (raw) => {
      const answer = foldBody(200, raw, { 'content-type': 'text/event-stream' })
      assert.ok(answer.done)
      return {
        error: answer.error?.message ?? null,
        text: answer.choices.get(0)?.text ?? '',
        cost: (answer.usage as Json)?.cost ?? null,
      }
    },
    whole: ({ choices: [{ text }], usage }) => ({ error: null, text, cost: usage.cost }),
  },
  messages: {
    ask: (model, stream) => ['/v1/messages', { model, stream, max_tokens: 1_000, messages: MESSAGES }],
    stream: (raw) => {
      const { error } = messageEnd(raw)
      return error === null ? messageTold(put(eventsOf(raw)).message) : { error, text: '', cost: null }
    },
    whole: messageTold,
    unfiltered: ['anthropic', messageEnd],
  },
  responses: {
    ask: (model, stream) => ['/v1/responses', { model, stream, input: 'Say it.' }],
    stream: (raw) => {
      const events = eventsOf(raw)
      checkStream(events)
      return responseTold(events.at(-1).response)
    },
    whole: responseTold,
  },
  gemini: {
    ask: (model, stream) => [
      `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      { contents: [{ role: 'user', parts: [{ text: 'Say it.' }] }] },
    ],
    stream: (raw) => geminiTold(chunksOf(raw, 'sse')),
    whole: (body) => geminiTold([body]),
    unfiltered: ['gemini', (raw) => geminiEnd(chunksOf(raw, 'sse'))],
  },
  'gemini in an array': {
    ask: (model, stream) => [
      `/v1beta/models/${model}:${stream ? 'streamGenerateContent' : 'generateContent'}`,
      { contents: [{ role: 'user', parts: [{ text: 'Say it.' }] }] },
    ],
    stream: (raw) => geminiTold(chunksOf(raw, 'array')),
    whole: (body) => geminiTold([body]),
    unfiltered: ['gemini', (raw) => geminiEnd(chunksOf(raw, 'array'))],
  },
  cohere: {
    ask: (model, stream) => ['/v2/chat', { model, stream, messages: MESSAGES }],
    stream: (raw) => {
      const [, error] = /^event: message-end\ndata: (.*"error".*)$/m.exec(raw) ?? []
      if (error !== undefined) return { error, text: '', cost: null }
      return cohereTold(foldedCohere(raw))
    },
    whole: cohereTold,
  },
}

function messageTold({ content, stop_reason: reason, usage }: Json): Told {
  assert.equal(typeof reason, 'string')
  return { error: null, text: content.map(({ text = '' }) => text).join(''), cost: usage.cost }
}

/** What its last events alone say. */
function messageEnd(raw: string): Told {
  const events = eventsOf(raw)
  const last = events.at(-1)
  if (last.type === 'error') {
    assert.deepEqual(Object.keys(last.error), ['type', 'message'])
    return { error: last.error.message, text: '', cost: null }
  }
  assert.equal(last.type, 'message_stop')
  const { usage } = events.findLast(({ type }) => type === 'message_delta')
  return { error: null, text: '', cost: usage.cost }
}

function responseTold({ status, error, output, usage }: Json): Told {
  assert.equal(status === 'failed', error !== null)
  const parts = output.flatMap(({ content = [] }) => content)
  return {
    error: error?.message ?? null,
    text: parts.map(({ text = '', refusal = '' }) => text + refusal).join(''),
    cost: usage?.cost ?? null,
  }
}

function geminiEnd(chunks: readonly Json[]): Told {
  const last = chunks.at(-1)
  if ((last.error ?? null) !== null) {
    assert.deepEqual(Object.keys(last.error), ['code', 'message', 'status', 'details'])
    return { error: last.error.message, text: '', cost: null }
  }
  const isBlocked = chunks.some(({ promptFeedback }) => promptFeedback !== undefined)
  assert.ok(
    isBlocked || chunks.some(({ candidates }) => candidates?.[0]?.finishReason !== undefined),
    'it has a reason',
  )
  return { error: null, text: '', cost: last.usageMetadata.cost }
}

function geminiTold(chunks: readonly Json[]): Told {
  const end = geminiEnd(chunks)
  if (end.error !== null) return end
  const firsts = chunks.flatMap(({ candidates = [] }) => candidates.filter(({ index = 0 }: Json) => index === 0))
  assert.equal(typeof firsts.at(-1).finishReason, 'string')
  const parts = firsts.flatMap(({ content }) => content?.parts ?? [])
  return { ...end, text: parts.map(({ text = '', thought = false }) => (thought === true ? '' : text)).join('') }
}

function cohereTold({ message, usage }: Json): Told {
  return { error: null, text: (message.content ?? []).map(({ text = '' }) => text).join(''), cost: usage.cost }
}

const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 1
rate_limit: { requests: 100000, window: 60 }
ip_block: { failures: 100000, window: 60, duration: 1 }
providers:
${Object.values(ADAPTERS)
  .map(
    (name) =>
      `  ${name}: { name: ${name}, adapter: ${name === 'native' ? 'openai' : name}, base_url: ${url}, api_key: ${SECRET} }`,
  )
  .join('\n')}
models:
${Object.values(ADAPTERS)
  .map(
    (name) => `  - id: test/${name}
    type: chat
    context_length: 1000000
    endpoints: [{ provider: ${name}, model: secret-upstream-model, price: { currency: RUB, prompt: 1, completion: 10 }${name === 'native' ? ', native_responses: true' : ''} }]`,
  )
  .join('\n')}
`,
  1_000_000,
)

/** Recorded answers that are small enough to be tried often. */
const cases = Object.entries(ADAPTERS).map(([protocol, adapter]) => ({
  adapter,
  chosen: recordedCases(
    ({ protocol: its, body, name, status }) =>
      its === protocol && body.length < 9_000 && status === 200 && /\/(?:chat|responses)\//.test(name),
  ),
}))
const all = cases.flatMap(({ chosen }) => chosen)

/** The answer that the provider gives from now on, in pieces of so many bytes. */
function answers(recorded: RecordedCase, body: Buffer, pieceBytes: number): void {
  upstream.answer((response) => {
    response.writeHead(recorded.status, { 'content-type': String(recorded.headers['content-type']) })
    for (let at = 0; at < body.length; at += pieceBytes) response.write(body.subarray(at, at + pieceBytes))
    response.end()
  })
}

/** Asks at one door; checks the form of its answer, that nothing of the operator's is in it, and what was charged. */
async function asked(door: Door, adapter: string, stream: boolean): Promise<Told> {
  const [path, body] = door.ask(`test/${adapter}`, stream)
  const answer = await request(`${tollgate.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const raw = await answer.body.text()
  assert.doesNotMatch(raw, new RegExp(`${SECRET}|secret-upstream-model|:${new URL(upstream.url).port}`))
  const isStream = /event-stream/.test(String(answer.headers['content-type'])) || path.includes(':streamG')
  try {
    const told =
      answer.statusCode !== 200
        ? refusal(JSON.parse(raw))
        : isStream && stream
          ? (door.unfiltered?.[0] === adapter ? door.unfiltered[1] : door.stream)(raw)
          : door.unfiltered?.[0] === adapter
            ? costTold(JSON.parse(raw))
            : door.whole(JSON.parse(raw))
    const row = await loggedRow(tollgate, key, answer.headers['x-generation-id'])
    if (told.cost !== null) assert.equal(row.total_cost, told.cost, 'the ledger says what the client was told')
    // Whose answers are free too often pays what they cost the operator (guarantees.md rule 20).
    if (told.error !== null && row.billing_basis !== 'provider_cost') assert.equal(row.total_cost, 0, row.status)
    if (told.error === null) assert.equal(row.status, 'completed')
    return told
  } catch (thrown) {
    if (thrown instanceof Error) thrown.message += `\n${answer.statusCode} ${raw.slice(0, 1_500)} … ${raw.slice(-800)}`
    throw thrown
  }
}

/** Of a whole answer that came as the provider wrote it, only its price is ours. */
function costTold({ usage, usageMetadata }: Json): Told {
  return { error: null, text: '', cost: (usage ?? usageMetadata).cost }
}

function refusal(body: Json): Told {
  const error = body.error?.message ?? body.message
  assert.ok(typeof error === 'string' && error.length > 0)
  return { error, text: '', cost: null }
}

const ROUNDS = form({ short: 3, long: 60 })
const SEED = form({ short: 1, long: 2 })
let tried = 0

for (const { adapter, chosen } of cases)
  test(`${adapter}: however its answer is damaged, each client gets a whole answer or an error, and the ledger agrees`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const seed = SEED * 100_000 + round
      const random = new Random(seed)
      const recorded = random.pick(chosen)
      const { what, body } = damaged(recorded, random.pick(all), random)
      const stream = random.chance(0.9) ? recorded.streaming : !recorded.streaming
      for (const [name, door] of Object.entries(DOORS)) {
        const note = `seed ${seed}, ${recorded.name}, ${stream ? 'streamed' : 'whole'}, ${name}: ${what.join(', ')}`
        try {
          answers(recorded, body, random.pick([1_000_000, 700, 97]))
          tried += 1
          await asked(door, adapter, stream)
        } catch (thrown) {
          throw new Error(note, { cause: thrown })
        }
      }
    }
  })

test('nothing is held after all of them', async (context) => {
  context.diagnostic(`${tried} answers`)
  const { body } = await tollgate.get('/v1/user/balance', key)
  assert.equal(body.reserved, 0)
})
