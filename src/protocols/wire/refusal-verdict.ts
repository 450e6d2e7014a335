import { REFUSALS, NAMED_STATUSES, type Refusal } from './refusal-table.ts'

/** The rows, with their codes and words as lists. */
const ROWS = REFUSALS.map(({ codes, words, ...row }) => ({
  ...row,
  codes: codes === undefined ? null : codes.trim().split(/\s+/),
  words: words?.split(';').map((phrase) => phrase.trim().replaceAll(/\s+/g, ' ')) ?? null,
}))

/** Faults of the request of which a broken provider may also speak. */
const REQUESTS: ReadonlySet<Refusal> = new Set(['moderation', 'client', 'request'])
/** Statuses that say when to try again, and not what was wrong. */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429])
const GAP = ' … '
const GAP_CHARS = 160
/**
 * How often a word is tried as the beginning of a phrase with a gap. A message that repeats a word more often is no
 * real message.
 */
const GAPS_MAX = 16

/** The facts of a provider's error, as `saidIn` of error-body.ts reads them. */
export interface Said {
  /** null = an error inside a 200 that names none. */
  readonly status: number | null
  /** Codes, types and names, in lower case. */
  readonly codes: readonly string[]
  readonly message: string
}

export interface Verdict {
  /** null = a fault without a known cause, such as a 500, or a request to wait. */
  readonly refusal: Refusal | null
  /** Whether a code or words show this, instead of only the status. */
  readonly isKnown: boolean
  /** The words by which it is known; null = a code or the status shows it. */
  readonly words: string | null
  /** These words are in quotation marks, and so may come from the request. */
  readonly isQuotation?: true
}

/**
 * Who is at fault for a refusal: by its codes, else by its words, else by its status. A 429 is judged by codes and by
 * rows of its own. The words of a 5xx never make it the request's fault, except for the length of the prompt, which
 * several servers report in this way. Quoted words count only if nothing else does.
 */
export function verdictOn({ status, codes, message }: Said, of?: 'job'): Verdict {
  const known = new Set(codes)
  const text = `${codes.join(' ')} ${message}`
  const all = plain(text)
  const unquoted = plain(withoutQuotations(text))
  let quotation: Verdict | null = null
  for (const row of ROWS) {
    if (row.of !== undefined && row.of !== of) continue
    if (row.status !== undefined && (status === null || !row.status.includes(status))) continue
    if (row.codes?.some((code) => known.has(code)) === true) return { refusal: row.whose, isKnown: true, words: null }
    if (row.words === null) {
      if (row.codes === null) return quotation ?? { refusal: row.whose, isKnown: false, words: null }
      continue
    }
    if (row.status === undefined && status !== null && NOT_NOW.has(status)) continue
    if (REQUESTS.has(row.whose) && status !== null && status >= 500 && of === undefined) continue
    const words = row.words.find((phrase) => says(unquoted, phrase))
    if (words !== undefined) return { refusal: row.whose, isKnown: true, words }
    const quoted: string | undefined = quotation === null ? row.words.find((phrase) => says(all, phrase)) : undefined
    if (quoted !== undefined) quotation = { refusal: row.whose, isKnown: true, words: quoted, isQuotation: true }
  }
  return quotation ?? { refusal: refusalOfStatus(status, message === ''), isKnown: false, words: null }
}

/** Who is at fault for a status without known words. A bare 413 means a prompt that the server will not read. */
export function refusalOfStatus(status: number | null, isBare = false): Refusal | null {
  if (status === null || status < 400 || status > 499 || NOT_NOW.has(status)) return null
  if (status === 413 && isBare) return 'context_length'
  const row = ROWS.find(
    (found) => found.codes === null && found.words === null && found.status?.includes(status) === true,
  )
  return row?.whose ?? 'request'
}

/** The status that a name of an error means; null = the names mean none. */
export function statusOfNames(names: readonly string[]): number | null {
  for (const name of names) {
    const status = NAMED_STATUSES.get(name)
    if (status !== undefined) return status
  }
  return null
}

/** The text in lower case, without quotation marks and with single spaces, like the words of the rows. */
export function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[`'"\s]+/g, ' ')
}

/** The words before a gap, and those after it. */
export function partsOf(phrase: string): readonly string[] {
  return phrase.split(GAP)
}

/** Whether a plain text contains the words of a row. */
function says(text: string, phrase: string): boolean {
  const [first = '', then] = partsOf(phrase)
  if (then === undefined) return text.includes(first)
  let at = text.indexOf(first)
  for (let tries = 0; at !== -1 && tries < GAPS_MAX; tries += 1) {
    if (text.slice(at + first.length, at + first.length + GAP_CHARS).includes(then)) return true
    at = text.indexOf(first, at + 1)
  }
  return false
}

const CLOSING: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["'", "'"],
  ['`', '`'],
  ['“', '”'],
  ['«', '»'],
])

/** The text without its quotations. JSON stays, and so does Python's form of it. */
function withoutQuotations(text: string): string {
  if (/\{\s?["']/.test(text)) return text
  let rest = ''
  let from = 0
  const unclosed = new Set<string>()
  for (const { 0: mark, index } of text.matchAll(/(?<![\p{L}\d])["'`“«]/gu)) {
    if (index < from || unclosed.has(mark)) continue
    const end = text.indexOf(CLOSING.get(mark) ?? mark, index + 1)
    if (end === -1) unclosed.add(mark)
    else {
      rest += text.slice(from, index)
      from = end + 1
    }
  }
  return rest + text.slice(from)
}
