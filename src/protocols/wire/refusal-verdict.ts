import { REFUSALS, NAMED_STATUSES, type Refusal } from './refusal-table.ts'

/** The rows, with their codes and words apart. */
const ROWS = REFUSALS.map(({ codes, words, ...row }) => ({
  ...row,
  codes: codes === undefined ? null : codes.trim().split(/\s+/),
  words: words?.split(';').map((phrase) => phrase.trim().replaceAll(/\s+/g, ' ')) ?? null,
}))

/** Faults of the request that a broken provider may speak of too. */
const REQUESTS: ReadonlySet<Refusal> = new Set(['moderation', 'client', 'request'])
/** Statuses that say when, not why. */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429])
const GAP = ' … '
const GAP_CHARS = 160
/** A message that repeats a word more often is none. */
const GAPS_MAX = 16

/** What a provider said, as `saidIn` of error-body.ts reads it. */
export interface Said {
  /** null = an error inside a 200 that names none. */
  readonly status: number | null
  /** Codes, types and names, in lower case. */
  readonly codes: readonly string[]
  readonly message: string
}

export interface Verdict {
  /** null = a fault without a cause, such as a 500, or a time to wait. */
  readonly refusal: Refusal | null
  /** A code or words say it, not the status alone. */
  readonly isKnown: boolean
  /** The words by which it is known; null = a code or the status says it. */
  readonly words: string | null
  /** They stand in quotation marks, and so may be a part of the request. */
  readonly isQuotation?: true
}

/**
 * Whose fault a refusal is: by its codes, else by its words, else by its status. A 429 is judged by codes and by rows
 * of its own; a 5xx is never the request's for its words, but may be the prompt's length, which several servers say
 * so. What is only quoted counts where nothing else is said.
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

/** Whose fault a status is that comes without a known word. A bare 413 is of a prompt that its server will not read. */
export function refusalOfStatus(status: number | null, isBare = false): Refusal | null {
  if (status === null || status < 400 || status > 499 || NOT_NOW.has(status)) return null
  if (status === 413 && isBare) return 'context_length'
  const row = ROWS.find(
    (found) => found.codes === null && found.words === null && found.status?.includes(status) === true,
  )
  return row?.whose ?? 'request'
}

/** The status that a name of an error means; null = the name means none. */
export function statusOfNames(names: readonly string[]): number | null {
  for (const name of names) {
    const status = NAMED_STATUSES.get(name)
    if (status !== undefined) return status
  }
  return null
}

/** In lower case, without quotation marks and with single spaces, as the words of the rows are. */
export function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[`'"\s]+/g, ' ')
}

/** The words before a gap and those after it. */
export function partsOf(phrase: string): readonly string[] {
  return phrase.split(GAP)
}

/** Whether a plain text has the words of a row. */
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

/** Without what it quotes. JSON, and what Python writes in its place, stays. */
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
