import { keptText, type FailedAttemptNote } from '../ledger/generation-record.ts'
import type { FailedAttempt } from './attempt-error.ts'

const WORDS_CHARS_MAX = 200
/** This many characters in a row that the request also has count as its prompt. */
const ECHO_CHARS = 12
/** A longer request is not compared, and no text of its refusal is logged. */
const COMPARED_CHARS_MAX = 262_144
/** Words that providers may quote: the model's name is no secret. */
const NAMES: ReadonlySet<string> = new Set(['model', 'models'])

const WITHHELD = '[withheld: it may repeat the prompt]'

/**
 * What each provider said, for the operator: redacted, and without texts that repeat the customer's request, since
 * prompts are never stored. null where it said nothing. `sent` is the parsed JSON of the request; a form is not
 * compared.
 */
export function providerWords(attempts: readonly FailedAttempt[], sent: unknown): readonly (string | null)[] {
  const said = attempts.map(({ failure }) =>
    failure === 'empty' || failure.said === null
      ? null
      : failure.said.slice(0, WORDS_CHARS_MAX).replaceAll(/\s+/g, ' '),
  )
  if (said.every((words) => words === null)) return said
  const texts = typeof sent === 'object' && sent !== null ? textsOf(sent) : null
  return said.map((words) => (words !== null && (texts === null || repeats(words, texts)) ? WITHHELD : words))
}

/** The attempts that failed, for the usage log; `sent` is the parsed JSON of the request. */
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
