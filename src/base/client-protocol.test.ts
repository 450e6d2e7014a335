import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorBody, protocolOfPath, statusOf, type ClientProtocol } from './client-protocol.ts'
import { ApiError, ERROR_NAMES, type ApiErrorDetails, type ErrorName } from './errors.ts'

function errorOf(name: ErrorName, message = 'Words', details: ApiErrorDetails = {}): ApiError {
  // Any name works: one of them requires more details, but no body shows those.
  return new ApiError(name as 'internal_error', message, details)
}

function body(protocol: ClientProtocol, error: ApiError): unknown {
  return errorBody(error, protocol, 'req-1')
}

test('a path tells the protocol where no route does', () => {
  const paths = {
    '/v1/messages': 'anthropic',
    '/v1/messages/count_tokens': 'anthropic',
    '/v1/messagesx': 'openai',
    '/v1/responses': 'responses',
    '/v1/responses/resp-1/cancel': 'responses',
    '/v1beta/models/x:generateContent': 'gemini',
    '/v1alpha/x': 'gemini',
    '/v2/chat': 'cohere',
    '/api/chat': 'ollama',
    '/v1/chat/completions': 'openai',
    '/nothing': 'openai',
  }
  for (const [path, protocol] of Object.entries(paths)) assert.equal(protocolOfPath(path), protocol, path)
})

test('every error has the shape of each protocol, and a type that goes with its status', () => {
  for (const name of ERROR_NAMES) {
    const error = errorOf(name)
    const status = statusOf(name, 'anthropic')
    const anthropic = body('anthropic', error) as { type: string; error: { type: string }; request_id: string }
    assert.equal(anthropic.type, 'error', name)
    assert.equal(anthropic.request_id, 'req-1', name)
    assert.deepEqual(Object.keys(anthropic.error), ['type', 'message'], name)
    assert.equal(anthropic.error.type.endsWith('_error') || status === 413, true, name)
    const gemini = body('gemini', error) as { error: Record<string, unknown> }
    assert.deepEqual(Object.keys(gemini.error), ['code', 'message', 'status', 'details'], name)
    assert.equal(gemini.error['code'], statusOf(name, 'gemini'), name)
    assert.deepEqual(body('cohere', error), { message: 'Words' }, name)
    assert.deepEqual(body('openai', error), error.body(), name)
    const { code, ...rest } = (body('responses', error) as { error: Record<string, unknown> }).error
    const { code: plain, ...same } = error.body().error
    const param =
      name === 'previous_response_not_found'
        ? { param: 'previous_response_id' }
        : name === 'item_not_found'
          ? { param: 'input' }
          : {}
    assert.deepEqual([rest, typeof code === 'string' || code === plain], [{ ...same, ...param }, true], name)
  }
})

test('the types of Anthropic and the statuses of Google are those of the status', () => {
  const rows: readonly (readonly [ErrorName, number, string, string])[] = [
    ['invalid_api_key', 401, 'authentication_error', 'UNAUTHENTICATED'],
    ['insufficient_balance', 402, 'billing_error', 'FAILED_PRECONDITION'],
    ['access_denied', 403, 'permission_error', 'PERMISSION_DENIED'],
    ['model_not_found', 404, 'not_found_error', 'NOT_FOUND'],
    ['endpoint_not_found', 404, 'not_found_error', 'NOT_FOUND'],
    ['method_not_allowed', 405, 'invalid_request_error', 'INVALID_ARGUMENT'],
    ['request_too_large', 413, 'request_too_large', 'INVALID_ARGUMENT'],
    ['unsupported_media_type', 415, 'invalid_request_error', 'INVALID_ARGUMENT'],
    ['rate_limit_exceeded', 429, 'rate_limit_error', 'RESOURCE_EXHAUSTED'],
    ['internal_error', 500, 'api_error', 'INTERNAL'],
    ['provider_error', 502, 'api_error', 'INTERNAL'],
    ['service_unavailable', 503, 'overloaded_error', 'UNAVAILABLE'],
    ['provider_timeout', 504, 'timeout_error', 'DEADLINE_EXCEEDED'],
  ]
  for (const [name, status, type, word] of rows) {
    assert.equal(statusOf(name, 'anthropic'), status, name)
    assert.partialDeepStrictEqual(body('anthropic', errorOf(name)), { error: { type } })
    assert.partialDeepStrictEqual(body('gemini', errorOf(name)), { error: { code: status, status: word } })
  }
  assert.equal(statusOf('model_not_found', 'openai'), 400)
})

test('Google is told when to ask again', () => {
  assert.partialDeepStrictEqual(body('gemini', errorOf('rate_limit_exceeded', 'Slow', { retryAfterSeconds: 34 })), {
    error: { details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }] },
  })
})

test('the words that Claude Code acts on are exact', () => {
  const said = (name: ErrorName, message: string, details: ApiErrorDetails = {}): string =>
    (body('anthropic', errorOf(name, message, details)) as { error: { message: string } }).error.message
  const context = { input: 208_310, output: 0, limit: 200_000 }
  const exact = 'prompt is too long: 208310 tokens > 200000 maximum'
  assert.equal(said('input_tokens_exceeded', 'Ours', { context }), exact)
  assert.equal(said('input_tokens_exceeded', exact), exact)
  assert.equal(said('input_tokens_exceeded', `Please reduce the length of the messages. ${exact}`), exact)
  assert.equal(said('input_tokens_exceeded', 'Too much.'), 'prompt is too long: Too much.')
  assert.match(
    said('token_limit_exceeded', 'Ours', { context: { input: 190_000, output: 20_000, limit: 200_000 } }),
    /^input length and `max_tokens` exceed context limit: 190000 \+ 20000 > 200000/,
  )
})

test('errors that Codex acts on have its words beside the status of the table', () => {
  const coded = ERROR_NAMES.flatMap((name) => {
    const { code } = (body('responses', errorOf(name)) as { error: { code: unknown } }).error
    return typeof code === 'string' ? [[name, statusOf(name, 'responses'), code]] : []
  })
  assert.deepEqual(coded, [
    ['input_tokens_exceeded', 400, 'context_length_exceeded'],
    ['token_limit_exceeded', 400, 'context_length_exceeded'],
    ['item_not_found', 404, 'item_not_found'],
    ['previous_response_not_found', 400, 'previous_response_not_found'],
    ['insufficient_balance', 402, 'insufficient_quota'],
    ['rate_limit_exceeded', 429, 'rate_limit_exceeded'],
    ['limit_exceeded', 429, 'insufficient_quota'],
  ])
  assert.equal(statusOf('model_not_found', 'responses'), 400)
})
