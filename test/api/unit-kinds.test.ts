import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { wavFile } from '../harness/audio-files.ts'
import { gateway, type Answer } from '../harness/gateway.ts'
import { badRequest, refused } from '../harness/refused.ts'
import { startScriptedUpstream, type ScriptedUpstream } from '../harness/scripted-upstream.ts'
import { B64 } from './images-world.ts'

const KEY = 'sk-upstream-canary-key-0123456789'

interface Reply {
  readonly status?: number
  readonly type?: string
  readonly body: string
}

/** A kind that is sold by its units; what holds for all of them is tested here, for each on its own model. */
interface UnitKind {
  /** Of the model, and of the row of the log. */
  readonly type: string
  readonly endpoint: string
  readonly list: string
  readonly body: Readonly<Record<string, unknown>>
  /** Of `one`, in the words of the catalogue; `two` is twice as dear. */
  readonly price: readonly [key: string, rub: number]
  readonly costRub: number
  readonly good: Reply
  /** null = an answer of this kind may hold nothing. */
  readonly empty: Reply | null
  readonly wrong: Readonly<Record<string, Reply>>
}

const VECTOR = [0.5, -0.25]
const VERDICT = { flagged: false, categories: { violence: false }, category_scores: { violence: 0.01 } }

const KINDS: Readonly<Record<string, UnitKind>> = {
  embeddings: {
    type: 'embeddings',
    endpoint: 'embeddings',
    list: 'embeddings',
    body: { input: ['a', 'b'] },
    price: ['prompt', 1_000],
    costRub: 0.002,
    good: vectors([0, VECTOR], [1, VECTOR]),
    empty: vectors(),
    wrong: {
      'fewer vectors than inputs': vectors([0, VECTOR]),
      'an index that is not there': vectors([0, VECTOR], [2, VECTOR]),
      'an index twice': vectors([0, VECTOR], [0, VECTOR]),
      'a vector that is none': vectors([0, 'abc'], [1, 'abc']),
      'a vector of texts': vectors([0, ['a']], [1, ['b']]),
      'no list': json({ object: 'list' }),
    },
  },
  rerank: {
    type: 'rerank',
    endpoint: 'rerank',
    list: 'rerank',
    body: { query: 'capital', documents: ['Berlin', 'Paris', 'Lyon'] },
    price: ['search', 0.2],
    costRub: 0.2,
    good: ranks([0, 1], [1, 0], [2, 0]),
    empty: ranks(),
    wrong: {
      'a document that is not there': ranks([3, 1]),
      'one document twice': ranks([0, 1], [0, 1]),
      'no score': ranks([0, undefined]),
      'a score in quotes': ranks([0, '1']),
      'no list': json({ object: 'list' }),
    },
  },
  speech: {
    type: 'tts',
    endpoint: 'audio/speech',
    list: 'tts',
    body: { input: 'Hello there' },
    price: ['characters', 1_000],
    costRub: 0.011,
    good: { type: 'audio/mpeg', body: 'a sound' },
    empty: { type: 'audio/mpeg', body: '' },
    wrong: { 'an object instead of a sound': json({ object: 'list' }) },
  },
  transcription: {
    type: 'transcription',
    endpoint: 'audio/transcriptions',
    list: 'transcriptions',
    body: { input_audio: { data: wavFile(2.04).toString('base64'), format: 'wav' } },
    price: ['second', 0.01],
    costRub: 0.021,
    good: json({ text: 'Hello.', duration: 2.04, segments: [] }),
    empty: null,
    wrong: { 'a text instead of an object': json('text'), 'no text': json({ object: 'list' }) },
  },
  moderations: {
    type: 'moderation',
    endpoint: 'moderations',
    list: 'moderations',
    body: { input: ['peace', 'war'] },
    price: ['request', 0.25],
    costRub: 0.25,
    good: json({ results: [VERDICT, VERDICT] }),
    empty: json({ results: 'none' }),
    wrong: {
      'fewer results than inputs': json({ results: [VERDICT] }),
      'a result without a verdict': json({ results: [VERDICT, { ...VERDICT, flagged: 'no' }] }),
      'categories that are no verdicts': json({ results: [VERDICT, { ...VERDICT, categories: { violence: 'no' } }] }),
    },
  },
  images: {
    type: 'image',
    endpoint: 'images/generations',
    list: 'images',
    body: { prompt: 'a cat', response_format: 'b64_json' },
    price: ['image_output', 1],
    costRub: 1,
    good: json({ created: 1, data: [{ b64_json: B64 }] }),
    empty: json({ created: 1, data: [{ b64_json: '...' }, { b64_json: '' }, {}, null, { url: 'nonsense' }] }),
    wrong: { 'a list that is a text': json({ data: 'none' }), 'a bare list': json([]) },
  },
}

/** What is no answer of any kind, with what the client gets; a refusal that is the client's fault is apart. */
const FAILURES: Readonly<Record<string, readonly [reply: Reply, status: number, errorType: string]>> = {
  'an error inside the 200': [json({ error: { message: `secret of ${KEY}`, code: 500 } }), 502, 'provider_error'],
  'a refused key': [json({ error: { message: `Incorrect API key: ${KEY}` } }, 401), 502, 'provider_error'],
  'a crash': [json({ error: { message: 'https://secret.internal' } }, 500), 502, 'provider_error'],
  'a provider that is busy': [json({ error: { message: 'slow down' } }, 429), 503, 'provider_unavailable'],
}

const one = await startScriptedUpstream()
const two = await startScriptedUpstream()
const endpoint = (provider: string, [key, rub]: UnitKind['price'], times: number): string =>
  `{ provider: ${provider}, model: upstream-model, price: { currency: RUB, ${key}: ${rub * times} } }`
const tollgate = await gateway({
  catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  one: { name: One, adapter: openai, base_url: ${one.url}/v1, api_key: ${KEY} }
  two: { name: Two, adapter: openai, base_url: ${two.url}/v1, api_key: ${KEY} }
models:
${Object.values(KINDS)
  .map(
    ({
      type,
      price,
    }) => `- { id: test/${type}, type: ${type}, tokenizer: o200k_base, endpoints: [${endpoint('one', price, 1)}] }
- { id: both/${type}, type: ${type}, tokenizer: o200k_base, endpoints: [${endpoint('one', price, 1)}, ${endpoint('two', price, 2)}] }
`,
  )
  .join('')}`,
})
const account = await tollgate.createAccount()

for (const [name, kind] of Object.entries(KINDS)) {
  const { type, endpoint, list, body, costRub } = kind
  const ask = (fields: Readonly<Record<string, unknown>> = {}, key = account.key): Promise<Answer> =>
    tollgate.post(`/v1/${endpoint}`, key, { model: `test/${type}`, ...body, ...fields })

  /** Nothing is charged and nothing stays reserved; the log has the failure. */
  const checkFree = async (answer: Answer, before: unknown): Promise<void> => {
    assert.doesNotMatch(answer.text, /canary|secret/)
    assert.deepEqual(await balance(), before)
    const log = await logOf(answer)
    assert.deepEqual([log['type'], log['status'], log['total_cost'], log['billing_basis']], [type, 'error', 0, 'free'])
  }

  describe(name, () => {
    test('one provider fails: the next one answers, and is charged once at its price', async () => {
      reply(one, json({ error: { message: 'down' } }, 503))
      reply(two, kind.good)
      const before = await balance()
      const answer = await ask({ model: `both/${type}`, provider: { order: ['one', 'two'] } })
      assert.equal(answer.status, 200, answer.text)
      const now = await balance()
      assert.deepEqual([Math.round((before.balance - now.balance) * 1e6), now.reserved], [costRub * 2e6, 0])
      const log = await logOf(answer)
      assert.deepEqual([log['type'], log['provider_name'], log['total_cost']], [type, 'Two', costRub * 2])
    })

    for (const [what, [failure, status, errorType]] of Object.entries({
      ...FAILURES,
      ...Object.fromEntries(
        Object.entries(kind.wrong).map(([what, wrong]) => [what, [wrong, 502, 'provider_error'] as const]),
      ),
      ...(kind.empty === null ? {} : { 'an empty answer': [kind.empty, 502, 'empty_response'] as const }),
    }))
      test(`${what} is ${status} ${errorType}, free`, async () => {
        reply(one, failure)
        const before = await balance()
        const answer = await ask()
        refused(answer, status, errorType)
        await checkFree(answer, before)
      })

    test("a 400 of the provider's is the client's, with its words and its name, free", async () => {
      reply(one, json({ error: { message: "Unknown parameter: 'quality'.", type: 'invalid_request_error' } }, 400))
      const before = await balance()
      const answer = await ask()
      badRequest(answer, 'invalid_input', /Unknown parameter: 'quality'/)
      assert.equal(answer.body.error.metadata.provider_name, 'One')
      await checkFree(answer, before)
    })

    test('402: names what it needs, not max_tokens, and nothing is sent', async () => {
      const { key } = await tollgate.createAccount({ balance: 0.000_001 })
      const sent = one.received.length
      const answer = await ask({}, key)
      refused(
        answer,
        402,
        'insufficient_balance',
        /^Insufficient balance: required \d+\.\d\d RUB, available 0\.00 RUB\. /,
      )
      assert.doesNotMatch(answer.body.error.message, /max_tokens/)
      assert.ok(answer.body.error.metadata.required >= costRub, answer.text)
      assert.equal(one.received.length, sent)
    })

    test('429 at the limit of the key: nothing is sent', async () => {
      const { key } = await tollgate.createAccount({ key: { limit: 0.000_001 } })
      const sent = one.received.length
      refused(await ask({}, key), 429, 'limit_exceeded')
      assert.equal(one.received.length, sent)
    })

    test('the endpoint is in the health record, the models in the list of their type', async () => {
      const { body: health } = await tollgate.request('GET', '/v1/health')
      assert.ok(health.endpoints.includes(endpoint), JSON.stringify(health.endpoints))
      const { body: listed } = await tollgate.get(`/v1/${list}/models`, account.key)
      const own = listed.data.filter(({ id }: { id: string }) => id.startsWith('test/'))
      assert.deepEqual(
        own.map(({ id, type: listedType }: { id: string; type: string }) => [id, listedType]),
        [[`test/${type}`, type]],
      )
      assert.ok(own[0].supported_endpoints.includes(endpoint), JSON.stringify(own[0]))
    })
  })
}

function json(body: unknown, status = 200): Reply {
  return { status, body: JSON.stringify(body) }
}

function vectors(...rows: readonly (readonly [index: number, embedding: unknown])[]): Reply {
  const data = rows.map(([index, embedding]) => ({ object: 'embedding', index, embedding }))
  return json({ object: 'list', data, model: 'e', usage: { prompt_tokens: 2, total_tokens: 2 } })
}

function ranks(...rows: readonly (readonly [index: number, score: unknown])[]): Reply {
  return json({
    results: rows.map(([index, score]) => ({ index, relevance_score: score })),
    usage: { search_units: 1, total_tokens: 3 },
  })
}

function reply(upstream: ScriptedUpstream, { status = 200, type = 'application/json', body }: Reply): void {
  upstream.answer((response) => response.writeHead(status, { 'content-type': type }).end(body))
}

async function balance(): Promise<{ balance: number; reserved: number }> {
  return (await tollgate.get('/v1/user/balance', account.key)).body
}

async function logOf({ headers }: Answer): Promise<Record<string, unknown>> {
  const { body } = await tollgate.get(`/v1/generation?generation_id=${headers['x-generation-id']}`, account.key)
  assert.equal(body.total, 1)
  return body.logs[0]
}

test('the log names no key of a provider', () => assert.doesNotMatch(tollgate.logs().join('\n'), /canary/))
