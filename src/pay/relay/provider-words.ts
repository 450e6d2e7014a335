import { keptText, type FailedAttemptNote } from '../../ledger/generation-record.ts'
import type { AttemptFailure } from '../../protocols/ports/attempt-failure.ts'
import type { Refusal } from '../../protocols/wire/refusal-table.ts'
import { partsOf, plain, refusalOfStatus } from '../../protocols/wire/refusal-verdict.ts'
import { PARAMETER_NAMES } from '../../tables/parameter-table.ts'
import type { FailedAttempt } from './attempt-error.ts'

const WORDS_CHARS_MAX = 200
/** A refusal that has so many characters in a row in common with the request counts as quoting the prompt. */
const ECHO_CHARS = 12
/** A longer request is not compared, and no text of a refusal of it is logged. */
const COMPARED_CHARS_MAX = 262_144
/** Names of fields whose values providers may quote: the model's name is no secret. */
const NAMES: ReadonlySet<string> = new Set(['model', 'models'])

/** The words of a request, and the items of the conversation that it continues or refers to. */
export interface RequestWords {
  /** The parsed JSON of the request, or the fields of its form. */
  readonly sent: unknown
  readonly earlier: readonly unknown[]
}

/** Parameters that an endpoint's `supported_parameters` may list, and so may lack. */
const PARAMETERS: ReadonlySet<string> = new Set(PARAMETER_NAMES)

const WITHHELD = '[withheld: it may repeat the prompt]'

/**
 * What each provider said, for the operator: redacted, and without texts that repeat the customer's request, since
 * prompts are never stored. null = it said nothing. `sent` has the words of the request; undefined = they are unknown.
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

/** The failed attempts for the usage log; `sent` has the words of the request. */
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
export function withoutEcho(failure: AttemptFailure | 'empty', sent: unknown): AttemptFailure | 'empty' {
  if (failure === 'empty' || failure.words === undefined) return failure
  const { words, isQuotation, ...rest } = failure
  const isRequests = OF_REQUESTS.has(failure.refusal)
  const isQuoted = isQuotation === true || failure.fields?.includes(words) === true
  if (failure.refusal === 'request' || (isRequests && !isQuoted) || !isSaidIn(sent, words)) return failure
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

/** The parameters of the request that a refusal names: in its own fields, else in its words. */
export function refusedParameters(failure: AttemptFailure | 'empty', sent: unknown): readonly string[] {
  if (failure === 'empty' || failure.refusal !== 'request') return []
  const told = (failure.fields ?? []).map((field) => /^\w+/.exec(field)?.[0] ?? '')
  const names = told.some((name) => PARAMETERS.has(name)) ? told : (failure.said?.match(/\w+/g) ?? [])
  return [...new Set(names)].filter(
    (name) => PARAMETERS.has(name) && typeof sent === 'object' && sent !== null && Object.hasOwn(sent, name),
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
