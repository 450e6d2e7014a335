import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { protocolOfPath, type ClientProtocol } from '../../src/base/client-protocol.ts'
import { ERRORS } from '../../src/base/error-table.ts'
import { errorTypeOf, type ErrorName } from '../../src/base/errors.ts'
import type { Route } from '../../src/http/edge.ts'
import type { Answer } from './api-client.ts'
import { calledModel } from './route-calls.ts'

/** Routes that take a body from a customer's program, in whatever protocol. */
export function doorsOf(routes: readonly Route<unknown>[]): readonly Route<unknown>[] {
  return routes.filter(
    ({ plane, body, method }) => body !== 'none' && method === 'POST' && (plane === 'key' || plane === 'management'),
  )
}

export function protocolOf({ protocol, path }: Route<unknown>): ClientProtocol {
  // A route that several protocols share takes no body.
  return typeof protocol === 'function'
    ? protocol({ headers: {} } as IncomingMessage)
    : (protocol ?? protocolOfPath(path))
}

/** The path of a route, with a model of the sandbox if the path names one. */
export function addressOf({ path }: Pick<Route<unknown>, 'path'>, model?: string): string {
  return path.replace(/\*model(:\w+)$/, (segment, word: string) =>
    model === undefined ? (calledModel(segment) ?? '') : model + word,
  )
}

/** Anthropic's error types and Google's status names by HTTP status, copied from their documentation. */
const ANTHROPIC: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  409: 'invalid_request_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  502: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}
const GOOGLE: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'INVALID_ARGUMENT',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  415: 'INVALID_ARGUMENT',
  422: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  502: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}
/** What a client must never see: how Tollgate is built, where it runs, which providers it calls. */
const OURS = /node_modules|\.ts:\d|file:\/\/|at \S+ \(|SQLITE|ECONN|undefined|\[object /

/** Asserts that a refusal has the whole form of the route's protocol; returns its message. */
export function checkShape(answer: Answer, protocol: ClientProtocol, what: string): string {
  const { status, headers, body, text } = answer
  assert.equal(headers['content-type'], 'application/json; charset=utf-8', what)
  assert.match(headers['x-request-id'] ?? '', /^[\w.:-]+$/, what)
  assert.equal(headers['retry-after'] === undefined || Number(headers['retry-after']) > 0, true, what)
  if (status === 401) assert.equal(headers['www-authenticate'], 'Bearer', what)
  if (status === 405) assert.match(headers['allow'] ?? '', /POST/, what)
  assert.ok(text.length < 4_000, `${what}: a refusal of ${text.length} characters`)
  const message = messageOf(answer, protocol, what)
  assert.ok(typeof message === 'string' && message.length > 0, `${what}: ${text}`)
  assert.doesNotMatch(message, OURS, what)
  assert.equal(body.stack, undefined, what)
  return message
}

function messageOf({ status, headers, body, text }: Answer, protocol: ClientProtocol, what: string): string {
  switch (protocol) {
    case 'openai':
    case 'responses': {
      assert.deepEqual(Object.keys(body), ['error'], text)
      const { code, metadata, message } = body.error
      if (protocol === 'openai' || typeof code === 'number') assert.equal(code, status, what)
      else assert.match(code, /^[a-z0-9_]+$/, what)
      assert.match(metadata.error_type, /^[a-z0-9_]+$/, what)
      if (metadata.error_type === 'rate_limit_exceeded')
        assert.equal(String(body.error.retry_after), headers['retry-after'], what)
      return message
    }
    case 'anthropic':
      assert.deepEqual(Object.keys(body), ['type', 'error', 'request_id'], text)
      assert.deepEqual([body.type, Object.keys(body.error)], ['error', ['type', 'message']], text)
      assert.equal(body.error.type, ANTHROPIC[status], what)
      assert.deepEqual([headers['request-id'], headers['x-request-id']], [body.request_id, body.request_id], what)
      return body.error.message
    case 'gemini':
      assert.deepEqual(
        [Object.keys(body), Object.keys(body.error)],
        [['error'], ['code', 'message', 'status', 'details']],
      )
      assert.deepEqual([body.error.code, body.error.status], [status, GOOGLE[status]], what)
      if (headers['retry-after'] !== undefined)
        assert.equal(body.error.details[0].retryDelay, `${headers['retry-after']}s`, what)
      return body.error.message
    case 'cohere':
      assert.deepEqual(Object.keys(body), ['message'], text)
      return body.message
    case 'ollama':
      assert.deepEqual(Object.keys(body), ['error'], text)
      return body.error
  }
}

/** Asserts this row of the error table in the form of the route's protocol. */
export function checkError(answer: Answer, protocol: ClientProtocol, name: ErrorName, what: string): void {
  const isUnknownModel = name === 'model_not_found' && protocol !== 'openai' && protocol !== 'responses'
  assert.equal(answer.status, isUnknownModel ? 404 : ERRORS[name].status, `${what}: ${answer.text.slice(0, 500)}`)
  checkShape(answer, protocol, what)
  if (protocol === 'openai' || protocol === 'responses')
    assert.equal(answer.body.error.metadata.error_type, errorTypeOf(name), what)
}
