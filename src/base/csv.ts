/** The content type of every CSV that the service sends. */
export const CSV_TYPE = 'text/csv; charset=utf-8'

/** `decimal` is an exact number as text, which is not escaped like a formula. */
export type CsvValue = string | number | boolean | null | { readonly decimal: string }

/**
 * Where a spreadsheet may see a cell begin: at the start of the text, and after any character that some locale uses as
 * separator, since a file with commas is also opened as one with semicolons, tabs or bars. Quotes, spaces of every
 * width and characters of no width may be in between, since readers of such files drop them.
 */
const FORMULA_START =
  /(^|[,;|\t\r\n])([ "'\v\f\u00A0\u00AD\u1680\u2000-\u200F\u2028-\u202F\u205F-\u2064\u3000\uFEFF]*)([=+\-@\uFF0B\uFF0D\uFF1D\uFF20])/g
const NEEDS_QUOTES = /[",;|\t\r\n]|^\s|\s$/

/** One line of a CSV file (RFC 4180), with its line end. */
export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(cell).join(',')}\r\n`
}

/**
 * A text that a spreadsheet would take for a formula gets an apostrophe before it (OWASP, CSV injection): titles and
 * referers come from clients.
 */
function cell(value: CsvValue): string {
  if (value === null) return ''
  if (typeof value === 'object') return value.decimal
  if (typeof value !== 'string') return String(value)
  const safe = value.replaceAll(FORMULA_START, "$1$2'$3")
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
