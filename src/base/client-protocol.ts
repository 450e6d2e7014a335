import type { ApiError, ErrorName } from './errors.ts'
import { ERRORS } from './error-table.ts'

/** The protocol that a client of a route speaks: it decides how an answer and an error are written. */
export type ClientProtocol = 'openai' | 'responses' | 'anthropic' | 'gemini' | 'cohere' | 'ollama'

/** For a path without a route, or whose route names no protocol. */
export function protocolOfPath(path: string): ClientProtocol {
  if (path === '/v1/messages' || path.startsWith('/v1/messages/')) return 'anthropic'
  if (path === '/v1/responses' || path.startsWith('/v1/responses/')) return 'responses'
  if (path.startsWith('/v1beta/') || path.startsWith('/v1alpha/') || isGeminiCall(path)) return 'gemini'
  if (path.startsWith('/api/')) return 'ollama'
  return path.startsWith('/v2/') ? 'cohere' : 'openai'
}

/** Calls of Gemini's protocol end with a verb, even those below paths of OpenAI's routes. */
function isGeminiCall(path: string): boolean {
  return path.startsWith('/v1/models/') && /:[A-Za-z]*(?:Contents?|Tokens)$/.test(path)
}

/**
 * The protocol of a request to a route that several protocols share: clients are recognised by their headers and their
 * key.
 */
export function protocolOfHeaders({
  headers,
  url = '',
}: {
  readonly headers: Readonly<Record<string, unknown>>
  readonly url?: string | undefined
}): ClientProtocol {
  if (headers['anthropic-version'] !== undefined) return 'anthropic'
  return headers['x-goog-api-key'] !== undefined || /[?&]key=/.test(url) ? 'gemini' : 'openai'
}

/** The status of an error. Protocols other than OpenAI's use 404 for an unknown model, which their clients expect. */
export function statusOf(name: ErrorName, protocol: ClientProtocol): number {
  return name === 'model_not_found' && protocol !== 'openai' && protocol !== 'responses' ? 404 : ERRORS[name].status
}

/** The JSON body of an error in the shape of a protocol (clients.md D-14.6). */
export function errorBody(error: ApiError, protocol: ClientProtocol, requestId: string): Record<string, unknown> {
  switch (protocol) {
    case 'openai':
      return error.body()
    case 'responses':
      return responsesBody(error)
    case 'anthropic':
      return anthropicBody(error, requestId)
    case 'gemini':
      return { error: geminiError(error) }
    case 'cohere':
      return { message: error.message }
    case 'ollama':
      return { error: error.message }
  }
}

/** Error codes of Responses that clients act on: Codex shortens the conversation, stops or waits. */
const RESPONSES_CODES: Readonly<Partial<Record<ErrorName, string>>> = {
  input_tokens_exceeded: 'context_length_exceeded',
  token_limit_exceeded: 'context_length_exceeded',
  insufficient_balance: 'insufficient_quota',
  limit_exceeded: 'insufficient_quota',
  rate_limit_exceeded: 'rate_limit_exceeded',
  previous_response_not_found: 'previous_response_not_found',
  item_not_found: 'item_not_found',
}

/** Errors about one parameter, with the parameter that OpenAI names. */
const RESPONSES_PARAMS: Readonly<Partial<Record<ErrorName, string>>> = {
  previous_response_not_found: 'previous_response_id',
  item_not_found: 'input',
}

/** The Responses code of an error; null = none, since the status is enough. */
export function responsesCode(name: ErrorName): string | null {
  return RESPONSES_CODES[name] ?? null
}

function responsesBody(error: ApiError): Record<string, unknown> {
  const { error: body } = error.body()
  const param = RESPONSES_PARAMS[error.errorName]
  return {
    error: { ...body, code: responsesCode(error.errorName) ?? body['code'], ...(param === undefined ? {} : { param }) },
  }
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
}

function anthropicBody(error: ApiError, requestId: string): Record<string, unknown> {
  const status = statusOf(error.errorName, 'anthropic')
  const { providerBody } = error.details
  if (providerBody !== undefined) return refusalOf(providerBody, error, requestId)
  const type = ANTHROPIC_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message: anthropicMessage(error) }, request_id: requestId }
}

/**
 * The provider's own refusal, with our id of the request. If the input is too long, the message is ours: a service that
 * copied the protocol may not have Anthropic's phrases.
 */
function refusalOf(
  body: Readonly<Record<string, unknown>>,
  error: ApiError,
  requestId: string,
): Record<string, unknown> {
  const said = typeof body['error'] === 'object' ? body['error'] : {}
  const message = error.errorName === 'input_tokens_exceeded' ? { message: anthropicMessage(error) } : {}
  return { ...body, error: { ...said, ...message }, request_id: requestId }
}

/** Phrases that Claude Code acts on: it shortens the conversation, or asks for a shorter answer. */
const ANTHROPIC_CONTEXT =
  /prompt is too long: \d+ tokens > \d+ maximum|input length and `max_tokens` exceed context limit: \d+ \+ \d+ > \d+/

function anthropicMessage({ errorName, message, details: { context } }: ApiError): string {
  if (errorName === 'token_limit_exceeded' && context !== undefined)
    return `input length and \`max_tokens\` exceed context limit: ${context.input} + ${context.output} > ${context.limit}, decrease input length or \`max_tokens\` and try again`
  if (errorName !== 'input_tokens_exceeded') return message
  const exact = ANTHROPIC_CONTEXT.exec(message)
  if (exact !== null) return exact[0]
  return context === undefined
    ? `prompt is too long: ${message}`
    : `prompt is too long: ${context.input} tokens > ${context.limit} maximum`
}

const GEMINI_STATUSES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  416: 'OUT_OF_RANGE',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** The error fields that Gemini's clients read. */
function geminiError({ errorName, message, details }: ApiError): Record<string, unknown> {
  const code = statusOf(errorName, 'gemini')
  const { retryAfterSeconds } = details
  const retry =
    retryAfterSeconds === undefined
      ? []
      : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterSeconds}s` }]
  const status = GEMINI_STATUSES[code] ?? (code < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL')
  return { code, message, status, details: retry }
}
