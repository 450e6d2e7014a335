import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { request } from 'undici'
import { ERRORS } from '../../src/base/error-table.ts'
import { ERROR_NAMES, errorTypeOf, type ErrorName } from '../../src/base/errors.ts'
import type { Route } from '../../src/http/edge.ts'
import { addressOf, checkError, doorsOf, protocolOf } from '../harness/door-errors.ts'
import { type Answer, serveSandbox } from '../harness/gateway.ts'
import { isLong } from '../harness/form.ts'
import { BODIES } from '../harness/route-calls.ts'

/**
 * Every reason to refuse a customer (wire.md 7.4): with its words at the door of chat, and in the long form at every
 * door, in the words of its protocol.
 */
const world = await serveSandbox(`
rate_limit: { requests: 100000, window: 60 }
ip_block: { failures: 100000, window: 60, duration: 1 }
providers: { other: { name: Other, adapter: sandbox } }
models:
  - { id: test/small, type: chat, context_length: 1000, endpoints: [{ provider: other, model: chat, price: { currency: RUB, prompt: 15, completion: 60 } }] }
`)
const CHAT = '/v1/chat/completions'
const { key, tollgate } = world

type Account = Awaited<ReturnType<typeof tollgate.createAccount>>
type Ask = (options?: {
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly method?: string
}) => Promise<Answer>

/** Doors that are free: they need no money, and hold none. */
const FREE = /count_?tokens/i

interface Row {
  readonly name: ErrorName
  /** The message at the door of chat. */
  readonly words: RegExp
  /** The key that asks; made once for all doors. */
  readonly account?: () => Promise<Pick<Account, 'key'>>
  /** What is asked; absent = the door's own valid request. */
  readonly ask?: (ask: Ask, route: Route<unknown>) => Promise<Answer>
  /** Doors to which it does not apply. */
  readonly not?: (route: Route<unknown>) => boolean
}

const made = (options: Parameters<typeof tollgate.createAccount>[0]) => (): Promise<Account> =>
  tollgate.createAccount(options)
const changed = (change: (account: Account) => Promise<Answer>) => async (): Promise<Account> => {
  const account = await tollgate.createAccount()
  assert.ok((await change(account)).status < 300)
  return account
}
const spent = (key: Record<string, unknown>) => async (): Promise<Account> => {
  const account = await tollgate.createAccount({ key })
  const body = BODIES['POST /v1/chat/completions']
  assert.equal((await tollgate.post('/v1/chat/completions', account.key, body)).status, 200)
  return account
}

const isFree = ({ path }: Route<unknown>): boolean => FREE.test(path)
/** Not the first door of its protocol: what is refused before any door is known needs no more. */
const isAnother = (route: Route<unknown>): boolean =>
  doorsOf(tollgate.app.routes).find((one) => protocolOf(one) === protocolOf(route)) !== route
const LARGE = Buffer.alloc(10_485_761, 0x20)
const BOMB = gzipSync(LARGE)
const isForm = ({ body }: Route<unknown>): boolean => body === 'json-or-multipart'

/** The same request for another model. */
async function otherModel(ask: Ask, route: Route<unknown>, model: string): Promise<Answer> {
  if (route.path.includes('*model')) return tollgate.post(addressOf(route, model), key, bodyOf(route))
  return ask({ body: { ...Object(bodyOf(route)), model } })
}

/** Its text is what a model answers to. */
const isNoChat = ({ path }: Route<unknown>): boolean =>
  !/chat|completions|responses|messages$|(?:generate|streamGenerate)Content$/.test(path)

/** The door's request with another text. */
function saying(route: Route<unknown>, text: string): unknown {
  return JSON.parse(JSON.stringify(bodyOf(route)).replace('"x"', JSON.stringify(text)))
}

/** The sandbox plays a provider that fails so. */
function scripted(name: ErrorName, words: RegExp, line: string, stream = false): Row {
  return {
    name,
    words,
    ask: (ask, route) => ask({ body: { ...Object(saying(route, `sandbox: ${line}`)), ...(stream ? { stream } : {}) } }),
    not: (route) => isNoChat(route) || (stream && route.path.includes('*model')),
  }
}

const running: Readable[] = []
const ROWS: Readonly<Record<string, Row>> = {
  'no key': { name: 'missing_api_key', words: /^Missing Authorization header/, account: async () => ({ key: '' }) },
  'a key of another form': {
    name: 'invalid_api_key',
    words: /^Invalid API key/,
    account: async () => ({ key: 'sk-tg-nonsense' }),
  },
  'a deleted key': {
    name: 'invalid_api_key',
    words: /^Invalid API key/,
    account: changed(({ keyId }) => tollgate.admin('DELETE', `/admin/v1/keys/${keyId}`)),
  },
  'an expired key': {
    name: 'key_expired',
    words: /^API key expired at 2020-01-01T00:00:00/,
    account: made({ key: { expires_at: '2020-01-01T00:00:00Z' } }),
  },
  'a key that is off': {
    name: 'key_deactivated',
    words: /^API key is deactivated/,
    account: changed(({ keyId }) => tollgate.admin('PATCH', `/admin/v1/keys/${keyId}`, { disabled: true })),
  },
  'a key of another address': {
    name: 'access_denied',
    words: /may not be used from 127\.0\.0\.1/,
    account: made({ key: { allowed_ips: ['203.0.113.9'] } }),
  },
  'an account that is off': {
    name: 'account_deactivated',
    words: /^Account is deactivated/,
    account: changed(({ id }) => tollgate.admin('PATCH', `/admin/v1/accounts/${id}`, { status: 'deactivated' })),
  },
  'an account that is locked': {
    name: 'api_locked',
    words: /^API access is blocked/,
    account: changed(({ id }) => tollgate.admin('PATCH', `/admin/v1/accounts/${id}`, { status: 'locked' })),
  },
  'an account over its rate': {
    name: 'rate_limit_exceeded',
    words: /^Too many requests\. Retry after \d+ seconds/,
    account: async () => {
      const account = await tollgate.createAccount({ account: { rate_limit: { requests: 1, window: 60 } } })
      await tollgate.get('/v1/key', account.key)
      return account
    },
  },
  'a key over its requests per minute': {
    name: 'rate_limit_exceeded',
    words: /requests/,
    account: spent({ requests_per_minute: 1 }),
    not: isFree,
  },
  'a key over its tokens per minute': {
    name: 'rate_limit_exceeded',
    words: /tokens/,
    account: spent({ tokens_per_minute: 1 }),
    // Pictures, sounds and videos have no tokens.
    not: (route) => isFree(route) || /images|audio|videos|moderations|rerank/.test(route.path),
  },
  'a model that the key may not use': {
    name: 'access_denied',
    words: /no access to/,
    account: made({ key: { allowed_models: ['a/b'] } }),
  },
  'no money': {
    name: 'insufficient_balance',
    words: /required \d+\.\d\d RUB, available 0\.00 RUB\. Top up/,
    account: made({ balance: 0 }),
    not: isFree,
  },
  'a key that has spent its limit': {
    name: 'limit_exceeded',
    words: /^Key limit exceeded \(monthly limit\): spent 0\.00 RUB/,
    account: made({ key: { limit: 0.000001, limit_reset: 'monthly' } }),
    not: isFree,
  },
  'an account that has spent its limit': {
    name: 'limit_exceeded',
    words: /limit exceeded/,
    account: made({ account: { limit: 0.000001, limit_reset: 'monthly' } }),
    not: isFree,
  },
  'a model that nobody has': {
    name: 'model_not_found',
    words: /Model 'no\/such' not found or inactive/,
    ask: (ask, route) => otherModel(ask, route, 'no/such'),
  },
  'a model of another kind': {
    name: 'model_not_supported',
    words: /does not support chat\/completions/,
    ask: (ask, route) => otherModel(ask, route, route.path.includes('rerank') ? 'sandbox/chat' : 'sandbox/rerank'),
  },
  'a body that is no JSON': { name: 'invalid_json', words: /not valid JSON/, ask: (ask) => ask({ body: '{"model":' }) },
  'a body of 10 MB and more': {
    name: 'request_too_large',
    words: /^Payload Too Large: request body exceeds 10 MB/,
    ask: (ask) => ask({ body: LARGE }),
    not: isAnother,
  },
  'a compressed body that becomes too large': {
    name: 'request_too_large',
    words: /^Payload Too Large/,
    ask: (ask) => ask({ body: BOMB, headers: { 'content-encoding': 'gzip' } }),
    not: isAnother,
  },
  'a body of another type': {
    name: 'unsupported_media_type',
    words: /Only application\/json is allowed/,
    ask: (ask) => ask({ body: 'x=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  },
  'a form': {
    name: 'unsupported_media_type',
    words: /application\/json/,
    ask: (ask) => ask({ body: '--b--', headers: { 'content-type': 'multipart/form-data; boundary=b' } }),
    not: isForm,
  },
  'a broken form': {
    name: 'file_upload_error',
    words: /./,
    ask: (ask) => ask({ body: '--c--', headers: { 'content-type': 'multipart/form-data; boundary=b' } }),
    not: (route) => !isForm(route),
  },
  'an Idempotency-Key of another request': {
    name: 'idempotency_mismatch',
    words: /Idempotency-Key/,
    account: async () => {
      const account = await tollgate.createAccount()
      const path = '/v1/chat/completions'
      const answer = await tollgate.request('POST', path, {
        key: account.key,
        body: { ...Object(BODIES[`POST ${path}`]), seed: 7 },
        headers: { 'idempotency-key': 'one' },
      })
      assert.equal(answer.status, 200, answer.text)
      return account
    },
    ask: (ask) => ask({ headers: { 'idempotency-key': 'one' } }),
    not: isFree,
  },
  'a key that runs as many requests as it may': {
    name: 'rate_limit_exceeded',
    words: /./,
    account: async () => {
      const account = await tollgate.createAccount({ key: { running_requests: 1 } })
      const body = {
        model: 'sandbox/chat',
        stream: true,
        messages: [{ role: 'user', content: 'x\nsandbox: words=2 gap_ms=600000' }],
      }
      const { body: stream } = await request(`${tollgate.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      running.push(stream)
      return account
    },
    not: isFree,
  },
  maintenance: {
    name: 'maintenance_mode',
    words: /Back at noon/,
    ask: async (ask) => {
      await tollgate.admin('PATCH', '/admin/v1/settings', { maintenance: { message: 'Back at noon' } })
      const answer = await ask()
      await tollgate.admin('PATCH', '/admin/v1/settings', { maintenance: null })
      return answer
    },
    not: isFree,
  },
  'a provider that fails': scripted('provider_error', /Provider returned an error/, 'status=500'),
  'a provider that refuses our account': scripted('provider_error', /Provider returned an error/, 'status=401'),
  'a provider that refuses the request': scripted('invalid_input', /422/, 'status=422'),
  'a provider that is busy': scripted('provider_unavailable', /busy or unavailable/, 'status=429'),
  'a provider that is late': scripted('provider_timeout', /did not answer in time/, 'status=408'),
  'a provider without an answer': scripted('empty_response', /^Empty response from provider/, 'words=0'),
  'a provider that fails before a stream': scripted('provider_error', /Provider returned an error/, 'status=500', true),
  'a provider without an answer to a stream': scripted(
    'empty_response',
    /^Empty response from provider/,
    'words=0',
    true,
  ),
  'an input that is too long': {
    name: 'input_tokens_exceeded',
    words: /maximum context length is \d+ tokens.*reduce the length of the messages/i,
    ask: (ask, route) => ask({ body: saying(route, 'word '.repeat(200_000)) }),
    not: isNoChat,
  },
  'another method': {
    name: 'method_not_allowed',
    words: /Method PUT is not allowed for \/v1\/chat\/completions\. Allowed: POST/,
    ask: (ask) => ask({ method: 'PUT' }),
  },
}

function bodyOf({ method, path }: Route<unknown>): unknown {
  return BODIES[`${method} ${path}`] ?? assert.fail(`${method} ${path}: BODIES has no valid body`)
}

for (const [what, { name, words, account, ask, not }] of Object.entries(ROWS))
  test(`${name} at every door: ${what}`, async (context) => {
    const { key } = account === undefined ? world : await account()
    let asked = 0
    for (const route of doorsOf(tollgate.app.routes)) {
      if (route.plane === 'management' || not?.(route) === true || !(isLong || route.path === CHAT)) continue
      const send: Ask = ({ body = bodyOf(route), headers = {}, method = 'POST' } = {}) =>
        tollgate.request(method, addressOf(route), { ...(key === '' ? {} : { key }), body, headers })
      const answer = await (ask === undefined ? send() : ask(send, route))
      checkError(answer, protocolOf(route), name, `${what}: ${route.path}`)
      if (route.path === CHAT) checkChat(answer, name, words)
      asked += 1
    }
    context.diagnostic(`${asked} doors`)
    if (isLong) assert.ok(asked > 4)
  })

function checkChat({ headers, body }: Answer, name: ErrorName, words: RegExp): void {
  assert.match(body.error.message, words)
  for (const limit of [
    'x-ratelimit-limit',
    'x-ratelimit-remaining',
    'x-ratelimit-reset',
    'access-control-allow-origin',
  ])
    assert.ok(headers[limit], limit)
  if (name === 'limit_exceeded') assert.equal(headers['x-should-retry'], 'false')
}

const HELLO = { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }] }
const chat = (body: unknown) => (): Promise<Answer> => tollgate.post(CHAT, key, body)
const get = (path: string) => (): Promise<Answer> => tollgate.get(path, key)
/** Reasons of chat and of the free routes alone. */
const OWN: Readonly<Record<string, readonly [ask: () => Promise<Answer>, name: ErrorName, words: RegExp]>> = {
  'no model': [chat({ messages: HELLO.messages }), 'missing_model', /Parameter 'model' is required/],
  'no messages': [chat({ model: HELLO.model }), 'missing_messages', /'messages' or 'prompt' is required/],
  'JSON that is no object': [chat('[1]'), 'invalid_json', /JSON/],
  'a wrong filter': [get('/v1/models?filter=x'), 'invalid_filter', /Invalid filter 'x'\. Allowed values: all, chat/],
  'a wrong role': [
    chat({ ...HELLO, messages: [{ role: 'robot', content: 'x' }] }),
    'invalid_message_role',
    /messages\[0\]\.role 'robot' is not allowed/,
  ],
  'a wrong part': [
    chat({ ...HELLO, messages: [{ role: 'user', content: [{ type: 'smell' }] }] }),
    'invalid_message_format',
    /messages\[0\]/,
  ],
  'a wrong response_format': [
    chat({ ...HELLO, response_format: { type: 'grammar' } }),
    'invalid_response_format',
    /response_format/,
  ],
  'a temperature out of range': [
    chat({ ...HELLO, temperature: 3 }),
    'invalid_input',
    /temperature: must be between 0 and 2/,
  ],
  'an input too long for a small model': [
    chat({ model: 'test/small', messages: [{ role: 'user', content: 'hello '.repeat(2_000) }] }),
    'input_tokens_exceeded',
    /maximum context length is 1000 tokens/,
  ],
  'max_tokens too large': [
    chat({ ...HELLO, model: 'test/small', max_tokens: 1_000 }),
    'token_limit_exceeded',
    /Total token limit per request exceeded/,
  ],
  'an unknown path': [get('/v1/nothing'), 'endpoint_not_found', /Unknown endpoint: GET \/v1\/nothing/],
  'an unknown stream': [get('/v1/streams?id=none'), 'stream_not_found', /Stream 'none' not found or expired/],
  'an unknown generation': [get('/v1/generation?id=gen-none'), 'generation_not_found', /gen-none/],
  'a model that is not there': [get('/v1/models/no/such'), 'model_record_not_found', /no\/such/],
  'no provider left': [
    chat({ ...HELLO, provider: { only: ['nobody'] } }),
    'no_available_provider',
    /match your routing preferences \(only\)/,
  ],
}
for (const [what, [ask, name, words]] of Object.entries(OWN))
  test(`${name}: ${what}`, async () => {
    const answer = await ask()
    checkError(answer, 'openai', name, what)
    checkChat(answer, name, words)
  })

/** Rows that no door gives, or only some, each with the place that tests it. */
const ELSEWHERE: Readonly<Partial<Record<ErrorName, string>>> = {
  missing_prompt: 'test/api/images.test.ts',
  missing_input: 'test/api/embeddings.test.ts',
  missing_query: 'test/api/rerank.test.ts',
  missing_documents: 'test/api/rerank.test.ts',
  missing_job_id: 'test/api/videos-refused.test.ts',
  invalid_base64: 'test/api/transcription.test.ts',
  input_too_long: 'test/api/speech.test.ts',
  prompt_too_long: 'test/api/images.test.ts',
  streaming_not_supported: 'test/api/unit-streams.test.ts',
  job_not_completed: 'test/api/videos.test.ts',
  item_not_found: 'test/api/responses-kept.test.ts',
  previous_response_not_found: 'test/api/responses-kept.test.ts',
  content_filtered: 'test/api/images.test.ts',
  request_timeout: 'src/http/server-limits.test.ts',
  invalid_range: 'test/api/videos.test.ts',
  unauthorized: 'test/api/route-matrix.test.ts',
  job_not_found: 'test/api/videos.test.ts',
  file_not_found: 'test/api/images-sandbox.test.ts',
  not_found: 'test/process/management-keys.test.ts',
  conflict: 'test/process/cabinet-admin.test.ts',
  precondition_failed: 'test/api/record-tests.ts',
  idempotency_conflict: 'test/process/idempotency.test.ts',
  internal_error: 'src/http/server.test.ts',
  service_unavailable: 'test/clock/overload.test.ts',
}

test('each row of the table is given at every door, or is tested where it says', () => {
  const given = new Set([...Object.values(ROWS).map(({ name }) => name), ...Object.values(OWN).map(([, name]) => name)])
  assert.deepEqual(ERROR_NAMES.filter((name) => !given.has(name)).toSorted(), Object.keys(ELSEWHERE).toSorted())
  for (const [name, file] of Object.entries(ELSEWHERE)) {
    // Our table: each of its names is a row.
    const wanted = errorTypeOf(name as ErrorName)
    const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
    assert.ok(text.includes(wanted) || text.includes(`${ERRORS[name as ErrorName].status}`), `${file}: ${wanted}`)
  }
})

after(() => {
  for (const stream of running) stream.on('error', () => undefined).destroy()
})

test('nothing was charged and nothing is held after all of them', async () => {
  const { body } = await tollgate.get('/v1/user/balance', key)
  assert.deepEqual([body.balance, body.reserved], [1_000, 0])
})
