import type { AttemptFailure, RedactedFailure } from '../ports/attempt-failure.ts'
import type { JsonObject } from '../../base/json-text.ts'
import { saidIn, type ErrorSaid } from './error-body.ts'
import { REDACTED_LENGTH_MAX, redactor, wholeWords, type OperatorsOwn } from './redaction.ts'
import type { Refusal } from './refusal-table.ts'
import { statusOfNames, verdictOn } from './refusal-verdict.ts'
import { headerOf, type UpstreamHeaders } from './transport.ts'

const MESSAGE_LENGTH_MAX = 500
/** The most parameters of a refusal that are read. */
const FIELDS_MAX = 8
/** The most members and elements of a refusal that is passed on. */
const BODY_VALUES_MAX = 64
const RETRY_AFTER_MAX_SECONDS = 60
const DETAIL_LENGTH_MAX = 2_000
/** Refusals whose words the client gets, since they are about what it sent. */
const CLIENTS: ReadonlySet<Refusal | null> = new Set<Refusal>(['context_length', 'moderation', 'client', 'request'])
/** Statuses with which a provider says when to try again. */
const BUSY: ReadonlySet<number> = new Set([429, 503, 529])
const COME_AGAIN =
  /(?:try again|retry|wait)(?: in| after| for)?:? ((?:\d{1,6}(?:\.\d{1,6})? ?(?:ms|h|m|s)[a-z]{0,11} ?){1,4})/i
const SPAN = /(\d{1,6}(?:\.\d{1,6})?) ?(ms|h|m|s)/gi
const SPAN_SECONDS: ReadonlyMap<string, number> = new Map([
  ['ms', 0.001],
  ['s', 1],
  ['m', 60],
  ['h', 3_600],
])
/** Numbers of tokens in words, but not those in dates and in names of models. */
const FIGURE = /(?<![\w.-])(?:\d{1,3}(?:,\d{3})+|\d{4,9})(?![\w-]|\.\d)/g
const FIGURES_MAX = 16

/** An error answer of any protocol (wire.md 7.4). `body` is parsed JSON, a text, or undefined. */
export function upstreamFailure(
  status: number,
  body: unknown,
  headers: UpstreamHeaders,
  nowMs: number,
): AttemptFailure {
  const type = headerOf(headers, 'x-amzn-errortype')?.split(':')[0]
  const said = saidIn(body, type === undefined ? [] : [type])
  const named = status === 400 ? statusOfNames(said.codes) : null
  const judged = { ...said, status: named ?? status }
  return {
    ...failureOf('status', judged, `${status} ${wordsOf(said)}`),
    retryAfterSeconds: retryAfter(headers, judged, nowMs),
  }
}

/**
 * An error object inside a 200: its status is the one that it names, else 502. `of`: the error is of a job that was
 * accepted.
 */
export function eventFailure(raw: unknown, of?: 'job'): AttemptFailure {
  const said = saidIn(raw)
  const judged = { ...said, status: said.status ?? statusOfNames(said.codes) }
  return {
    ...failureOf('error_event', judged, wordsOf(said) || 'error event', of),
    retryAfterSeconds: retryAfter({}, judged, 0),
  }
}

/**
 * A job that the provider accepted and then failed: the client may know of a moderation refusal, but of no other
 * reason.
 */
export function jobFailure(raw: unknown): AttemptFailure {
  const found = eventFailure(raw, 'job')
  if (found.refusal !== 'moderation') return { ...found, publicMessage: null }
  return { ...found, publicMessage: found.publicMessage ?? 'The prompt was rejected by the provider' }
}

/** The statuses for errors inside a 200, by the kind of refusal. */
const STATUS_OF: ReadonlyMap<Refusal | null, number> = new Map<Refusal | null, number>([
  ['credentials', 401],
  ['account', 402],
  ['endpoint', 404],
  ['context_length', 400],
  ['moderation', 400],
  ['client', 400],
  ['request', 400],
])

function failureOf(
  reason: AttemptFailure['reason'],
  said: ErrorSaid,
  detail: string,
  of?: 'job',
): Omit<AttemptFailure, 'retryAfterSeconds'> {
  const { refusal, isKnown, words, isQuotation } = verdictOn(said, of)
  const message = quoted(said.message)
  const window = refusal === 'context_length' ? windowOf(said) : null
  return {
    reason,
    status:
      (CLIENTS.has(refusal) && refusal !== 'request') || said.status === null
        ? (STATUS_OF.get(refusal) ?? 502)
        : said.status,
    publicMessage: CLIENTS.has(refusal) ? message : null,
    said: message,
    quotes: true,
    refusal,
    isKnown,
    ...(words === null ? {} : { words }),
    ...(isQuotation === true ? { isQuotation } : {}),
    ...(window === null ? {} : { window }),
    ...(said.fields.length === 0 ? {} : { fields: said.fields.slice(0, FIELDS_MAX) }),
    detail: detail.slice(0, DETAIL_LENGTH_MAX),
  }
}

function wordsOf({ message, codes }: ErrorSaid): string {
  return message === '' ? codes.join(' ') : message
}

/** The tokens in a refusal of the length. Of several figures, the largest is the prompt's and the next the window's. */
function windowOf({ tokens, message }: ErrorSaid): NonNullable<AttemptFailure['window']> | null {
  if (tokens.limit > 0) return tokens
  const figures = new Set<number>()
  for (const [figure] of message.slice(0, REDACTED_LENGTH_MAX).matchAll(FIGURE)) {
    if (figures.size < FIGURES_MAX) figures.add(Number(figure.replaceAll(',', '')))
  }
  const [input = 0, limit = 0] = [...figures].toSorted((left, right) => right - left)
  return limit === 0 ? null : { input, limit }
}

/** The part of the message that `withoutSecretsOf` reads; null = nothing of it is left. */
function quoted(message: string): string | null {
  const words = wholeWords(message)
  return words === '' ? null : words
}

/** Removes the provider's settings, and secrets from the upstream's words; cuts the words for clients. */
export function withoutSecretsOf(provider: OperatorsOwn, failure: AttemptFailure): RedactedFailure {
  const redact = redactor(provider, failure.quotes === true)
  const clean = (text: string | null): string | null =>
    text === null ? null : redact(text).slice(0, MESSAGE_LENGTH_MAX)
  const { publicMessage, said, body } = failure
  return {
    ...failure,
    publicMessage: clean(publicMessage),
    said: clean(said),
    ...(body === undefined ? {} : { body: redactedBody(body, redact) }),
    redacted: true,
  }
}

/** Redacts every text of a body, including names of members; anything beyond the needs of a refusal is left out. */
function redactedBody(body: JsonObject, redact: (text: string) => string): JsonObject {
  let left = BODY_VALUES_MAX
  const cleaned = (value: unknown): unknown => {
    left -= 1
    if (left < 0) return null
    if (typeof value === 'string') return redact(wholeWords(value))
    if (Array.isArray(value)) return value.slice(0, left).map(cleaned)
    return typeof value === 'object' && value !== null ? members(value) : value
  }
  const members = (object: object): Record<string, unknown> => {
    const copy: Record<string, unknown> = {}
    for (const [name, value] of entriesOf(object)) {
      if (left <= 0) break
      if (name !== '__proto__') copy[redact(wholeWords(name))] = cleaned(value)
    }
    return copy
  }
  return members(body)
}

/**
 * The seconds to wait, at most a minute: `Retry-After` in seconds or as a date, its form in milliseconds, Google's
 * `RetryInfo`, or words.
 */
function retryAfter(headers: UpstreamHeaders, said: ErrorSaid, nowMs: number): number | null {
  const ms = headerOf(headers, 'retry-after-ms')
  const value = headerOf(headers, 'retry-after')
  const told =
    ms !== undefined && isNumber(ms)
      ? Number(ms) / 1_000
      : value === undefined
        ? (said.retrySeconds ?? (BUSY.has(said.status ?? 0) ? secondsIn(said.message) : null))
        : isNumber(value)
          ? Number(value)
          : (Date.parse(value) - nowMs) / 1_000
  return told === null || !Number.isFinite(told)
    ? null
    : Math.min(RETRY_AFTER_MAX_SECONDS, Math.max(0, Math.ceil(told)))
}

function isNumber(text: string): boolean {
  return /^\d{1,15}(\.\d+)?$/.test(text)
}

/** The seconds in a sentence such as "Please try again in 1m26.4s." */
function secondsIn(message: string): number | null {
  const found = COME_AGAIN.exec(message.slice(0, REDACTED_LENGTH_MAX))?.[1]
  if (found === undefined) return null
  let seconds = 0
  for (const [, number, unit] of found.matchAll(SPAN)) seconds += Number(number) * (SPAN_SECONDS.get(unit ?? '') ?? 0)
  return seconds
}

/** One entry at a time: `Object.entries` would first list a million of them. */
function* entriesOf(value: object): Generator<readonly [string, unknown]> {
  for (const name in value) {
    // Keys of parsed JSON are strings.
    if (Object.hasOwn(value, name)) yield [name, (value as Readonly<Record<string, unknown>>)[name]]
  }
}
