import { keptText, type FailedAttemptNote } from '../../ledger/generation-record.ts'
import type { AttemptFailure } from '../../protocols/ports/attempt-failure.ts'
import type { Refusal } from '../../protocols/wire/refusal-table.ts'
import { partsOf, plain, refusalOfStatus } from '../../protocols/wire/refusal-verdict.ts'
import { PARAMETER_NAMES } from '../../tables/parameter-table.ts'
import type { FailedAttempt } from './attempt-error.ts'

const WORDS_CHARS_MAX = 200
/** This many characters in a row that the request also has count as its prompt. */
const ECHO_CHARS = 12
/** A longer request is not compared, and no text of its refusal is logged. */
const COMPARED_CHARS_MAX = 262_144
/** Words that providers may quote: the model's name is no secret. */
const NAMES: ReadonlySet<string> = new Set(['model', 'models'])

/** What a request says itself, and the items of the conversation that it continues or refers to. */
export interface RequestWords {
  /** The parsed JSON of the request, or the fields of its form. */
  readonly sent: unknown
  readonly earlier: readonly unknown[]
}

/** What an endpoint's `supported_parameters` may list, and so may lack. */
const PARAMETERS: ReadonlySet<string> = new Set(PARAMETER_NAMES)

const WITHHELD = '[withheld: it may repeat the prompt]'

/**
 * What each provider said, for the operator: redacted, and without texts that repeat the customer's request, since
 * prompts are never stored. null where it said nothing. `sent` is what the request says; undefined = unknown.
 */
export function providerWords(attempts: readonly FailedAttempt[], sent: unknown): readonly (string | null)[] {
  const said = attempts.map(({ failure }) =>
    failure === 'empty' || failure.said === null
      ? null
      : failure.said.slice(0, WORDS_CHARS_MAX).replaceAll(/\s+/g, ' '),
  )
  const isQuoted = attempts.map(({ failure }) => failure !== 'empty' && failure.quotes === true)
  if (said.every((words, index) => words === null || isQuoted[index] !== true)) return said
  const texts = typeof sent === 'object' && sent !== null ? textsOf(sent) : null
  return said.map((words, index) =>
    words !== null && isQuoted[index] === true && (texts === null || repeats(words, texts)) ? WITHHELD : words,
  )
}

/** The attempts that failed, for the usage log; `sent` is what the request says. */
export function failureNotes(attempts: readonly FailedAttempt[], sent: unknown): readonly FailedAttemptNote[] {
  const words = providerWords(attempts, sent)
  return attempts.map(({ failure, providerName }, index) => {
    const said = words[index] ?? null
    return {
      provider: providerName,
      reason: failure === 'empty' ? failure : failure.reason,
      status: failure === 'empty' ? null : failure.status,
      ...(said === null ? {} : { said: keptText(said) }),
    }
  })
}

/** What can be said of a fault of the request by itself, so that only its quotation shows that it was not. */
const OF_REQUESTS: ReadonlySet<Refusal | null> = new Set<Refusal>(['context_length', 'moderation', 'client', 'request'])

/**
 * A refusal that is known by words alone is not what they say where the request has these words too: a provider may
 * repeat them, and then prompts could take an endpoint out of service. Of a fault of the request that holds where they
 * are quoted, since its own words are often those of its conversation. Nobody reads what may be the operator's.
 */
export function withoutEcho(failure: AttemptFailure | 'empty', sent: unknown): AttemptFailure | 'empty' {
  if (failure === 'empty' || failure.words === undefined) return failure
  const { words, isQuotation, ...rest } = failure
  const isRequests = OF_REQUESTS.has(failure.refusal)
  const isQuoted = isQuotation === true || failure.fields?.includes(words) === true
  if (failure.refusal === 'request' || (isRequests && !isQuoted) || !isSaidIn(sent, words)) return failure
  const refusal = failure.reason === 'status' ? refusalOfStatus(failure.status) : 'request'
  return { ...rest, isKnown: false, refusal: isRequests ? 'request' : refusal }
}

/** Members whose values stand between texts that belong together. */
const FRAME: ReadonlySet<string> = new Set(['type', 'role'])

/**
 * Whether a request has these words, in one of its texts, in several in a row, or among the names of its members. Those
 * before a gap and those after it may be anywhere: a provider is sent the parts of a request in another order.
 */
function isSaidIn(sent: unknown, words: string): boolean {
  const texts: string[] = []
  const all: string[] = []
  // Its depth is bounded where it is read.
  const read = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value)
    if (typeof value === 'object' && value !== null) {
      for (const [name, child] of Object.entries(value)) {
        if (!Array.isArray(value)) all.push(name)
        if (typeof child === 'string' && FRAME.has(name)) all.push(child)
        else read(child)
      }
    } else all.push(String(value))
  }
  read(sent)
  return [all.join(' '), texts.join(' '), texts.join('')].some((text) => {
    const said = plain(text)
    return partsOf(words).every((part) => said.includes(part))
  })
}

/** The parameters of the request that a refusal names: in its own fields, else among its words. */
export function refusedParameters(failure: AttemptFailure | 'empty', sent: unknown): readonly string[] {
  if (failure === 'empty' || failure.refusal !== 'request') return []
  const told = (failure.fields ?? []).map((field) => /^\w+/.exec(field)?.[0] ?? '')
  const names = told.some((name) => PARAMETERS.has(name)) ? told : (failure.said?.match(/\w+/g) ?? [])
  return [...new Set(names)].filter(
    (name) => PARAMETERS.has(name) && typeof sent === 'object' && sent !== null && Object.hasOwn(sent, name),
  )
}

/** Every text of a request; null if there is too much of it. */
function textsOf(value: object): readonly string[] | null {
  const texts: string[] = []
  let chars = 0
  // A list rather than recursion: the client chooses the depth.
  const left: unknown[] = [value]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === 'string') {
      texts.push(next.replaceAll(/\s+/g, ' '))
      chars += next.length
    } else if (typeof next === 'object' && next !== null) {
      for (const [name, child] of Object.entries(next)) if (!NAMES.has(name) && child !== null) left.push(child)
    }
    if (chars > COMPARED_CHARS_MAX) return null
  }
  return texts
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
