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

/** Without it spreadsheets do not read a text as UTF-8. */
export const BYTE_ORDER_MARK = '\uFEFF'

/**
 * The forms of a file. Excel splits a line at the list separator of Windows, and reads numbers as Windows does: with
 * Russian settings it splits only at semicolons, and takes 1.5 for the first of May. A line `sep=,` would not help,
 * since Excel then ignores the byte order mark, and the letters are wrong.
 */
export const CSV_FORMATS = ['csv', 'csv_semicolon'] as const
/** What the contracts say of them. */
export const CSV_FORMATS_TEXT =
  'A file of all that is filtered, in place of a page; `csv_semicolon`: with semicolons and decimal commas, for Excel with Russian settings.'
export type CsvFormat = (typeof CSV_FORMATS)[number]

/** One line of a CSV file (RFC 4180), with its line end. */
export function csvLine(values: readonly CsvValue[], format: CsvFormat = 'csv'): string {
  const separator = format === 'csv' ? ',' : ';'
  return `${values.map((value) => cell(value, format)).join(separator)}\r\n`
}

/**
 * A text that a spreadsheet would take for a formula gets an apostrophe before it (OWASP, CSV injection): titles and
 * referers come from clients.
 */
function cell(value: CsvValue, format: CsvFormat): string {
  if (value === null) return ''
  if (typeof value !== 'string') {
    const text = typeof value === 'object' ? value.decimal : String(value)
    return format === 'csv' ? text : text.replace('.', ',')
  }
  const safe = value.replaceAll(FORMULA_START, "$1$2'$3")
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
