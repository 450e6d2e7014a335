import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway, type Answer, type Gateway } from '../harness/gateway.ts'

const hello = [{ role: 'user', content: 'Hello' }]

const tollgate = await gateway({
  catalog: `
providers: { sandbox2: { name: Sandbox Two, adapter: sandbox } }
models:
  - { id: test/small, type: chat, context_length: 1000, endpoints: [{ provider: sandbox2, model: chat, price: { currency: RUB, prompt: 15, completion: 60 } }] }
  - { id: test/vectors, type: embeddings, endpoints: [{ provider: sandbox2, model: vectors, price: { currency: RUB, prompt: 1 } }] }
`,
})
const { key } = await tollgate.createAccount()

function chat(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return tollgate.request('POST', '/v1/chat/completions', { key, body, headers })
}

function script(line: string): Promise<Answer> {
  return chat({ model: 'sandbox/chat', messages: [{ role: 'user', content: `sandbox: ${line}` }] })
}

async function withKey(
  change: (account: { id: string; keyId: string }) => Promise<unknown>,
  options: Parameters<Gateway['createAccount']>[0] = {},
): Promise<Answer> {
  const account = await tollgate.createAccount(options)
  await change(account)
  return tollgate.post('/v1/chat/completions', account.key, { model: 'sandbox/chat', messages: hello })
}

const nothing = (): Promise<unknown> => Promise.resolve()

/**
 * Every row of wire.md 7.4 that chat and the free endpoints can give: how to cause it, its status and type, words of
 * its message.
 */
const ROWS: readonly (readonly [string, () => Promise<Answer>, number, string, RegExp])[] = [
  ['no model', () => chat({ messages: hello }), 400, 'missing_model', /Parameter 'model' is required/],
  ['no messages', () => chat({ model: 'sandbox/chat' }), 400, 'missing_messages', /'messages' or 'prompt' is required/],
  ['broken JSON', () => chat('{"model":'), 400, 'invalid_json', /not valid JSON/],
  ['JSON that is no object', () => chat('[1]'), 400, 'invalid_json', /JSON/],
  [
    'wrong filter',
    () => tollgate.get('/v1/models?filter=x', key),
    400,
    'invalid_filter',
    /Invalid filter 'x'\. Allowed values: all, chat/,
  ],
  [
    'wrong role',
    () => chat({ model: 'sandbox/chat', messages: [{ role: 'robot', content: 'x' }] }),
    400,
    'invalid_message_role',
    /messages\[0\]\.role 'robot' is not allowed/,
  ],
  [
    'wrong part',
    () => chat({ model: 'sandbox/chat', messages: [{ role: 'user', content: [{ type: 'smell' }] }] }),
    400,
    'invalid_message_format',
    /messages\[0\]/,
  ],
  [
    'wrong response_format',
    () => chat({ model: 'sandbox/chat', messages: hello, response_format: { type: 'grammar' } }),
    400,
    'invalid_response_format',
    /response_format/,
  ],
  [
    'temperature out of range',
    () => chat({ model: 'sandbox/chat', messages: hello, temperature: 3 }),
    400,
    'invalid_input',
    /temperature: must be between 0 and 2/,
  ],
  [
    'unknown model',
    () => chat({ model: 'no/such', messages: hello }),
    400,
    'model_not_found',
    /Model 'no\/such' not found or inactive/,
  ],
  [
    'model of another kind',
    () => chat({ model: 'test/vectors', messages: hello }),
    400,
    'model_not_supported',
    /does not support chat\/completions/,
  ],
  [
    'input too long',
    () => chat({ model: 'test/small', messages: [{ role: 'user', content: 'hello '.repeat(2_000) }] }),
    400,
    'input_tokens_exceeded',
    /maximum context length is 1000 tokens.*reduce the length of the messages/i,
  ],
  [
    'max_tokens too large',
    () => chat({ model: 'test/small', messages: hello, max_tokens: 1_000 }),
    400,
    'token_limit_exceeded',
    /Total token limit per request exceeded/,
  ],
  [
    'no key',
    () => tollgate.request('POST', '/v1/chat/completions', { body: {} }),
    401,
    'missing_api_key',
    /Missing Authorization header/,
  ],
  [
    'wrong key',
    () => tollgate.post('/v1/chat/completions', 'sk-tg-nonsense', {}),
    401,
    'invalid_api_key',
    /Invalid API key/,
  ],
  [
    'expired key',
    () => withKey(nothing, { key: { expires_at: '2020-01-01T00:00:00Z' } }),
    401,
    'key_expired',
    /API key expired at 2020-01-01T00:00:00/,
  ],
  [
    'deleted key',
    () => withKey(({ keyId }) => tollgate.admin('DELETE', `/admin/v1/keys/${keyId}`)),
    401,
    'invalid_api_key',
    /Invalid API key/,
  ],
  [
    'empty balance',
    () => withKey(nothing, { balance: 0 }),
    402,
    'insufficient_balance',
    /required \d+\.\d\d RUB, available 0\.00 RUB\. Top up/,
  ],
  [
    'account deactivated',
    () => withKey(({ id }) => tollgate.admin('PATCH', `/admin/v1/accounts/${id}`, { status: 'deactivated' })),
    403,
    'account_deactivated',
    /Account is deactivated/,
  ],
  [
    'account locked',
    () => withKey(({ id }) => tollgate.admin('PATCH', `/admin/v1/accounts/${id}`, { status: 'locked' })),
    403,
    'api_locked',
    /API access is blocked/,
  ],
  [
    'key disabled',
    () => withKey(({ keyId }) => tollgate.admin('PATCH', `/admin/v1/keys/${keyId}`, { disabled: true })),
    403,
    'key_deactivated',
    /API key is deactivated/,
  ],
  [
    'model not allowed',
    () => withKey(nothing, { key: { allowed_models: ['test/small'] } }),
    403,
    'access_denied',
    /no access to/,
  ],
  [
    'unknown path',
    () => tollgate.get('/v1/nothing', key),
    404,
    'endpoint_not_found',
    /Unknown endpoint: GET \/v1\/nothing/,
  ],
  [
    'unknown stream',
    () => tollgate.get('/v1/streams?id=none', key),
    404,
    'stream_not_found',
    /Stream 'none' not found or expired/,
  ],
  [
    'unknown generation',
    () => tollgate.get('/v1/generation?id=gen-none', key),
    404,
    'generation_not_found',
    /gen-none/,
  ],
  ['GET of an unknown model', () => tollgate.get('/v1/models/no/such', key), 404, 'model_not_found', /no\/such/],
  [
    'no provider left',
    () => chat({ model: 'sandbox/chat', messages: hello, provider: { only: ['nobody'] } }),
    404,
    'no_available_provider',
    /match your routing preferences \(only\)/,
  ],
  [
    'wrong method',
    () => tollgate.request('PUT', '/v1/chat/completions', { key, body: {} }),
    405,
    'method_not_allowed',
    /Method PUT is not allowed for \/v1\/chat\/completions\. Allowed: POST/,
  ],
  [
    'too large',
    () => chat(`{"a":"${'x'.repeat(10_485_760)}"}`),
    413,
    'request_too_large',
    /Payload Too Large: request body exceeds 10 MB/,
  ],
  [
    'wrong type',
    () => chat('{}', { 'content-type': 'text/plain' }),
    415,
    'unsupported_media_type',
    /Only application\/json is allowed/,
  ],
  [
    'too many requests',
    async () => {
      const account = await tollgate.createAccount({ account: { rate_limit: { requests: 1, window: 60 } } })
      await tollgate.get('/v1/key', account.key)
      return tollgate.get('/v1/key', account.key)
    },
    429,
    'rate_limit_exceeded',
    /Too many requests\. Retry after \d+ seconds/,
  ],
  [
    'key limit',
    () => withKey(nothing, { key: { limit: 0.000001, limit_reset: 'monthly' } }),
    429,
    'limit_exceeded',
    /^Key limit exceeded \(monthly limit\): spent 0\.00 RUB/,
  ],
  ['empty answer', () => script('words=0'), 502, 'empty_response', /Empty response from provider/],
  ['provider fails', () => script('status=500'), 502, 'provider_error', /Provider returned an error/],
  ['our account at the provider', () => script('status=401'), 502, 'provider_error', /Provider returned an error/],
  ['provider refuses the request', () => script('status=422'), 400, 'invalid_input', /422/],
  ['provider busy', () => script('status=429'), 503, 'provider_unavailable', /busy or unavailable/],
  ['provider times out', () => script('status=408'), 504, 'provider_timeout', /did not answer in time/],
  [
    'maintenance',
    async () => {
      await tollgate.admin('PATCH', '/admin/v1/settings', { maintenance: { message: 'Back at noon' } })
      const answer = await chat({ model: 'sandbox/chat', messages: hello })
      await tollgate.admin('PATCH', '/admin/v1/settings', { maintenance: null })
      return answer
    },
    503,
    'maintenance_mode',
    /Back at noon/,
  ],
]

for (const [what, provoke, status, type, message] of ROWS) {
  test(`${status} ${type}: ${what}`, async () => {
    const answer = await provoke()
    assert.equal(answer.status, status, answer.text)
    assert.deepEqual(Object.keys(answer.body), ['error'])
    assert.equal(answer.body.error.code, status)
    assert.equal(answer.body.error.metadata.error_type, type)
    assert.match(answer.body.error.message, message)
    assert.match(answer.headers['content-type'] ?? '', /^application\/json; charset=utf-8$/)
    for (const name of [
      'x-request-id',
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      'access-control-allow-origin',
    ])
      assert.ok(answer.headers[name], name)
    if (type === 'rate_limit_exceeded')
      assert.equal(String(answer.body.error.retry_after), answer.headers['retry-after'])
    if (type === 'limit_exceeded') assert.equal(answer.headers['x-should-retry'], 'false')
  })
}

test('nothing was charged for any of it, and no hold is left', async () => {
  const balance = await tollgate.get('/v1/user/balance', key)
  assert.deepEqual([balance.body.balance, balance.body.reserved], [100, 0])
})
