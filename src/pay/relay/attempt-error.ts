import { ApiError, type ApiErrorDetails } from '../../base/errors.ts'
import { type FailedAttemptNote, keptText } from '../../ledger/generation-record.ts'
import type { AttemptFailure, RedactedFailure } from '../../protocols/ports/attempt-failure.ts'
import type { Refusal } from '../../protocols/wire/refusal-table.ts'
import { partsOf, plain, refusalOfStatus } from '../../protocols/wire/refusal-verdict.ts'
import { PARAMETER_NAMES } from '../../tables/parameter-table.ts'
import type { Asked } from './generation-state.ts'

const BUSY: ReadonlySet<number> = new Set([429, 503, 529])
/** Refusals of what the request asks for: its client may see the provider's words, and no endpoint is to blame. */
const REQUEST_FAULTS: ReadonlySet<Refusal | null> = new Set<Refusal>([
  'context_length',
  'moderation',
  'client',
  'request',
])
/** Refusals of our key or account: another key of the pool may still work. */
const KEY_FAULTS: ReadonlySet<Refusal | null> = new Set<Refusal>(['credentials', 'account'])
const RETRY_AFTER_MAX_SECONDS = 60
const RETRY_AFTER_DEFAULT_SECONDS = 5

/** One failed attempt, with the display name of its provider. `empty` is a 200 whose answer has no content. */
export interface FailedAttempt {
  readonly failure: RedactedFailure | 'empty'
  readonly providerName: string
  readonly modelId: string
  /** The tokens that its endpoint can read by the catalogue; null = unknown. */
  readonly contextLength: number | null
}

function isRequestFault(failure: AttemptFailure): boolean {
  return REQUEST_FAULTS.has(failure.refusal)
}

/**
 * Which other endpoints of the model may still serve the request: `all`; `others`, those of other providers, one of
 * which is asked; those with a `larger` window; or `none` (wire.md 7.4).
 */
export function mayServeNext({ failure }: FailedAttempt): 'all' | 'others' | 'larger' | 'none' {
  if (failure === 'empty' || failure.reason === 'unsendable' || !isRequestFault(failure)) return 'all'
  if (failure.refusal === 'context_length') return 'larger'
  // The provider bills this refusal, so a repeat would cost again.
  return failure.refusal === 'request' && failure.billed === undefined ? 'others' : 'none'
}

/** The tokens that an endpoint can read, by the catalogue and by its own refusal of a longer prompt; null = unknown. */
export function windowOf({ failure, contextLength }: FailedAttempt): number | null {
  const told = failure === 'empty' ? 0 : (failure.window?.limit ?? 0)
  return told > 0 ? Math.min(told, contextLength ?? told) : contextLength
}

/** Whether another key of the same provider is worth a try. */
export function mayRotateKey(attempt: FailedAttempt): boolean {
  const { failure } = attempt
  return (
    failure !== 'empty' && (KEY_FAULTS.has(failure.refusal) || (failure.refusal === null && failure.status === 429))
  )
}

/**
 * Whether the failure counts against the endpoint's health (wire.md D-8.1). A client's bad request does not: otherwise
 * prompts could eject an endpoint for everybody.
 */
export function isUnhealthy(attempt: FailedAttempt): boolean {
  if (attempt.failure === 'empty') return true
  const { refusal, reason, status } = attempt.failure
  const isBadEnd = reason === 'error_event' && status === null && refusal === null
  return !isRequestFault(attempt.failure) && !isBadEnd && reason !== 'saturated'
}

/** Whether the provider says that it does not serve the model, at all or to this account. */
export function isClosed({ failure }: FailedAttempt): boolean {
  return failure !== 'empty' && failure.refusal === 'endpoint' && failure.isKnown === true
}

/** How many seconds a busy provider asks us to wait (guarantees.md F29); 0 = it does not ask. */
export function pauseSeconds(attempt: FailedAttempt): number {
  if (!isBusy(attempt) || attempt.failure === 'empty') return 0
  return Math.min(RETRY_AFTER_MAX_SECONDS, attempt.failure.retryAfterSeconds ?? 0)
}

function isBusy(attempt: FailedAttempt): boolean {
  const { failure } = attempt
  if (failure === 'empty' || failure.refusal !== null) return false
  return failure.reason === 'connect' || failure.reason === 'saturated' || isStatusIn(failure, BUSY)
}

/**
 * The client's error after the last attempt: 503 if all were busy or unreachable, else the reason why the last
 * attempt's model was refused, else the error of the last attempt. An attempt whose protocol cannot express the request
 * counts only if no provider was asked.
 */
export function errorOfAttempts(attempts: readonly FailedAttempt[]): ApiError {
  const asked = attempts.filter(({ failure }) => failure === 'empty' || failure.reason !== 'unsendable')
  const deciding = asked.length > 0 ? asked : attempts
  const last = deciding.at(-1)
  if (last === undefined) return new ApiError('provider_error', 'Provider returned an error')
  if (deciding.every(isBusy)) return unavailable(deciding, last.modelId)
  return errorOf(refusalOf(deciding.filter(({ modelId }) => modelId === last.modelId)) ?? last)
}

/** The last refusal whose reason is known; else the first refusal. */
function refusalOf(attempts: readonly FailedAttempt[]): FailedAttempt | undefined {
  const refused = attempts.filter(({ failure }) => failure !== 'empty' && isRequestFault(failure))
  const isKnown = ({ failure }: FailedAttempt): boolean => failure !== 'empty' && failure.refusal !== 'request'
  return refused.findLast(isKnown) ?? refused[0]
}

function unavailable(attempts: readonly FailedAttempt[], modelId: string): ApiError {
  const hints = attempts.flatMap(({ failure }) =>
    failure === 'empty' || failure.retryAfterSeconds === null ? [] : [failure.retryAfterSeconds],
  )
  const hint = hints.length === 0 ? RETRY_AFTER_DEFAULT_SECONDS : Math.min(...hints)
  return new ApiError(
    'provider_unavailable',
    `All providers of model '${modelId}' are busy or unavailable. Try again later`,
    {
      retryAfterSeconds: Math.max(1, Math.min(RETRY_AFTER_MAX_SECONDS, Math.ceil(hint))),
    },
  )
}

/** The failed attempts for the log: the providers, the reasons and the statuses. */
export function failuresText(attempts: readonly FailedAttempt[]): string {
  return attempts
    .map(
      ({ failure, providerName }) =>
        `${providerName}: ${failure === 'empty' ? failure : [failure.reason, failure.status ?? failure.why ?? ''].join(' ').trim()}`,
    )
    .join(', ')
}

/** One attempt's failure as an error for the client; also the error of a stream that broke after its first byte. */
export function errorOf(attempt: FailedAttempt): ApiError {
  const { failure } = attempt
  if (failure === 'empty') return new ApiError('empty_response', 'Empty response from provider')
  if (isRequestFault(failure)) return requestFault(failure, attempt)
  if (failure.reason === 'timeout' || failure.reason === 'stall' || failure.status === 408) {
    return new ApiError('provider_timeout', 'Provider did not answer in time')
  }
  if (failure.reason === 'cut') return new ApiError('provider_error', 'Provider disconnected mid-stream')
  if (isBusy(attempt)) return unavailable([attempt], attempt.modelId)
  return new ApiError('provider_error', 'Provider returned an error')
}

function requestFault(failure: AttemptFailure, attempt: FailedAttempt): ApiError {
  const { body } = failure
  const details = {
    metadata: { provider_name: attempt.providerName },
    ...(body === undefined ? {} : { providerBody: body }),
  }
  const message = failure.publicMessage ?? 'Provider refused the request'
  if (failure.refusal === 'context_length') return tooLong(failure, attempt, details)
  if (failure.refusal === 'moderation') return new ApiError('content_filtered', message, details)
  // Only a client of the provider's protocol gets the provider's status.
  return new ApiError(
    body !== undefined && failure.status === 413 ? 'request_too_large' : 'invalid_input',
    message,
    details,
  )
}

/** The error with the provider's words, and the words at which agents shorten a conversation (wire.md C8). */
function tooLong(
  { window, publicMessage }: AttemptFailure,
  attempt: FailedAttempt,
  details: ApiErrorDetails,
): ApiError {
  const limit = windowOf(attempt)
  const said = publicMessage ?? ''
  const words = [
    said.replace(/(?<=[^.!?\s])\s{0,9}$/, '.'),
    /maximum context length/i.test(said)
      ? ''
      : `This model's maximum context length is ${limit === null ? 'exceeded' : `${limit} tokens`}.`,
    /reduce the length/i.test(said) ? '' : 'Please reduce the length of the messages.',
  ]
  const context = window === undefined || window.input <= window.limit ? {} : { context: { ...window, output: 0 } }
  const message = words.filter((sentence) => sentence !== '').join(' ')
  return new ApiError('input_tokens_exceeded', message, { ...details, ...context })
}

/** The error of a stream that broke after its first byte (wire.md D-3.4): always 5xx, since the request was valid. */
export function midStreamError(attempt: FailedAttempt): ApiError {
  const error = errorOf(attempt)
  if (error.errorName === 'provider_timeout' || error.errorName === 'empty_response') return error
  const cut = attempt.failure !== 'empty' && attempt.failure.reason === 'cut'
  return new ApiError('provider_error', cut ? 'Provider disconnected mid-stream' : 'Provider returned an error')
}

/**
 * Whether only the provider, or the connection to it, is to blame for a failed answer, so that it does not count for
 * rule 20. Clients can cause the other failures: answers that are empty, too long in bytes or in time, or refused on
 * the way.
 */
export function isProviderFault(failure: AttemptFailure | 'empty', asked: Asked | null): boolean {
  if (failure === 'empty' || failure.reason === 'too_large') return false
  // After the first content, only the time limit of the whole answer can be exceeded.
  if (failure.reason === 'timeout') return asked?.heard !== 'content'
  if (failure.reason !== 'error_event' || isStatusIn(failure, BUSY)) return true
  if (REQUEST_FAULTS.has(failure.refusal)) return false
  const isBilled = (asked?.attempt.reported() ?? null) !== null
  return !isBilled && failure.status !== null && (failure.refusal !== null || failure.status >= 500)
}

function isStatusIn({ status }: AttemptFailure, statuses: ReadonlySet<number>): boolean {
  return status !== null && statuses.has(status)
}

/** Whether the answer took longer than we wait, so that the provider's bill for it is unknown. */
export function isGivenUp(failure: AttemptFailure | 'empty'): boolean {
  return failure !== 'empty' && (failure.reason === 'timeout' || failure.reason === 'stall')
}

const WORDS_CHARS_MAX = 200
/** A refusal that has so many characters in a row in common with the request counts as quoting the prompt. */
const ECHO_CHARS = 12
/** A longer request is not compared, and no text of a refusal of it is logged. */
const COMPARED_CHARS_MAX = 262_144
/** Names of fields whose values providers may quote: the model's name is no secret. */
const NAMES: ReadonlySet<string> = new Set(['model', 'models'])

/** The words of a request, and the items of the conversation that it continues or refers to. */
export interface RequestWords {
  /** Returns the parsed JSON of the request, or the fields of its form. */
  readonly sent: () => unknown
  readonly earlier: readonly unknown[]
}

/** Parameters that an endpoint's `supported_parameters` may list, and so may lack. */
const PARAMETERS: ReadonlySet<string> = new Set(PARAMETER_NAMES)

const WITHHELD = '[withheld: it may repeat the prompt]'

/**
 * What each provider said, for the operator: redacted, and without texts that repeat the customer's request, since
 * prompts are never stored. null = it said nothing. `sent` returns the words of the request; undefined = they are
 * unknown.
 */
export function providerWords(attempts: readonly FailedAttempt[], sent: () => unknown): readonly (string | null)[] {
  const said = attempts.map(({ failure }) =>
    failure === 'empty' || failure.said === null
      ? null
      : failure.said.slice(0, WORDS_CHARS_MAX).replaceAll(/\s+/g, ' '),
  )
  const isQuoted = attempts.map(({ failure }) => failure !== 'empty' && failure.quotes === true)
  if (said.every((words, index) => words === null || isQuoted[index] !== true)) return said
  const request = sent()
  const texts = typeof request === 'object' && request !== null ? textsOf(request) : null
  return said.map((words, index) =>
    words !== null && isQuoted[index] === true && (texts === null || repeats(words, texts)) ? WITHHELD : words,
  )
}

/** The failed attempts for the usage log; `sent` returns the words of the request. */
export function failureNotes(attempts: readonly FailedAttempt[], sent: () => unknown): readonly FailedAttemptNote[] {
  const words = providerWords(attempts, sent)
  return attempts.map(({ failure, providerName }, index) => {
    const said = words[index] ?? null
    return {
      provider: providerName,
      reason: failure === 'empty' ? failure : failure.reason,
      status: failure === 'empty' ? null : failure.status,
      ...(said === null ? {} : { said: keptText(said), ...(isTold(failure) ? { told: true as const } : {}) }),
    }
  })
}

/** Whether the client gets the provider's words. */
function isTold(failure: AttemptFailure | 'empty'): boolean {
  return failure !== 'empty' && isRequestFault(failure) && failure.publicMessage !== null
}

/**
 * Refusals about the request. Their usual words may also be in its conversation, so only a quotation shows that they
 * are the request's own.
 */
const OF_REQUESTS: ReadonlySet<Refusal | null> = new Set<Refusal>(['context_length', 'moderation', 'client', 'request'])

/**
 * A refusal known only by its words does not count as known if the request contains these words: a provider may repeat
 * them, and then prompts could take an endpoint out of service. For a refusal about the request, this applies only if
 * the words are quoted, since conversations often contain such words. Then the client also does not see words that may
 * be about the operator's account.
 */
export function withoutEcho(failure: AttemptFailure | 'empty', sent: () => unknown): AttemptFailure | 'empty' {
  if (failure === 'empty' || failure.words === undefined) return failure
  const { words, isQuotation, ...rest } = failure
  const isRequests = OF_REQUESTS.has(failure.refusal)
  const isQuoted = isQuotation === true || failure.fields?.includes(words) === true
  if (failure.refusal === 'request' || (isRequests && !isQuoted) || !isSaidIn(sent(), words)) return failure
  const refusal = failure.reason === 'status' ? refusalOfStatus(failure.status) : 'request'
  return { ...rest, isKnown: false, refusal: isRequests ? 'request' : refusal }
}

/** Members whose values would separate texts that belong together. */
const FRAME: ReadonlySet<string> = new Set(['type', 'role'])

/**
 * Whether a request contains these words: in one of its texts, across several in a row, or among the names of its
 * members. The parts before and after a gap may be anywhere, since a provider gets the parts of a request in another
 * order.
 */
function isSaidIn(sent: unknown, words: string): boolean {
  const texts: string[] = []
  const all: string[] = []
  // The depth is bounded where the request is parsed.
  const read = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value)
    if (Array.isArray(value)) for (const child of value as readonly unknown[]) read(child)
    else if (typeof value === 'object' && value !== null)
      for (const [name, child] of Object.entries(value)) {
        all.push(name)
        if (typeof child === 'string' && FRAME.has(name)) all.push(child)
        else read(child)
      }
    else all.push(String(value))
  }
  read(sent)
  return [all.join(' '), texts.join(' '), texts.join('')].some((text) => {
    const said = plain(text)
    return partsOf(words).every((part) => said.includes(part))
  })
}

/** The parameters of the request that a refusal names: in its own fields, else in its words. */
export function refusedParameters(failure: AttemptFailure | 'empty', sent: () => unknown): readonly string[] {
  if (failure === 'empty' || failure.refusal !== 'request') return []
  const told = (failure.fields ?? []).map((field) => /^\w+/.exec(field)?.[0] ?? '')
  const names = told.some((name) => PARAMETERS.has(name)) ? told : (failure.said?.match(/\w+/g) ?? [])
  const request = sent()
  return [...new Set(names)].filter(
    (name) => PARAMETERS.has(name) && typeof request === 'object' && request !== null && Object.hasOwn(request, name),
  )
}

/** Every text of a request; null = there are too many. */
function textsOf(value: object): readonly string[] | null {
  const texts: string[] = []
  let chars = 0
  // A list instead of recursion, since the client chooses the depth.
  const left: unknown[] = [value]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === 'string') {
      texts.push(next.replaceAll(/\s+/g, ' '))
      chars += next.length
    } else if (Array.isArray(next)) {
      for (const child of next as readonly unknown[]) if (mayHaveText(child)) left.push(child)
    } else if (typeof next === 'object' && next !== null) {
      for (const [name, child] of Object.entries(next)) if (mayHaveText(child) && !NAMES.has(name)) left.push(child)
    }
    if (chars > COMPARED_CHARS_MAX) return null
  }
  return texts
}

function mayHaveText(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null)
}

function repeats(said: string, texts: readonly string[]): boolean {
  const short = texts.filter(({ length }) => length > 3 && length < ECHO_CHARS)
  if (short.some((text) => said.includes(text) && /\s|\d/.test(text))) return true
  const long = texts.filter(({ length }) => length >= ECHO_CHARS)
  for (let at = 0; at + ECHO_CHARS <= said.length; at += 1) {
    const part = said.slice(at, at + ECHO_CHARS)
    if (long.some((text) => text.includes(part))) return true
  }
  return false
}
