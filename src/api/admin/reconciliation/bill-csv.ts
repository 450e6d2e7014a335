import { setImmediate as nextTurn } from 'node:timers/promises'
import { fieldError } from '../../../base/refusals.ts'
import { parseDecimal, type Decimal } from '../../../base/money.ts'
import { isDay, isoDay } from '../../../base/time.ts'

/** The amount that a provider bills for one model over one or more days. */
export interface BillLine {
  /** Line of the file, from 1. */
  readonly line: number
  /** Days, both included. */
  readonly from: string
  readonly to: string
  readonly model: string
  readonly amount: Decimal
  readonly currency: string
}

interface Cell {
  readonly text: string
  /** Line of the file on which the cell begins, from 1. */
  readonly line: number
}

type BillColumn = 'period' | 'model' | 'amount' | 'currency'

/** Names that providers give their columns, in the form of `nameOf`. */
const NAMES: Readonly<Record<BillColumn, readonly string[]>> = {
  period: ['period', 'date', 'day', 'usage_date', 'start_date', 'start_time', 'start', 'timestamp', 'time', 'month'],
  model: ['model', 'model_id', 'model_name', 'snapshot', 'line_item', 'sku', 'item'],
  amount: ['amount', 'cost', 'total', 'total_cost', 'amount_value', 'charge', 'spend'],
  currency: ['currency', 'currency_code', 'amount_currency'],
}
const LINES_MAX = 100_000
/** Characters read before other requests have their turn: about 10 ms at most. */
const TURN_CHARS = 1_048_576
/** The rest of a longer cell is dropped: no column that is read needs more. */
const CELL_CHARS_MAX = 1_000
/** `cost_usd`: the column's name gives the currency. */
const AMOUNT_IN = /^(?:amount|cost|total|total_cost|spend)_([a-z]{3})$/
const CURRENCY = /^[A-Z]{3}$/
const DAY = /^(\d{4}-\d{2}-\d{2})(?:[T ].*)?$/
const RUSSIAN_DAY = /^(\d{2})\.(\d{2})\.(\d{4})$/
const MONTH = /^(\d{4})-(\d{2})$/
const RANGE = /^(\d{4}-\d{2}-\d{2})(?:\/| - | – |\.\.)(\d{4}-\d{2}-\d{2})$/

/**
 * Reads a bill whose first line names its columns; `currency` applies to a file that names none. Throws an ApiError
 * that names line and column.
 */
export async function parseBill(csv: string, currency: string | null): Promise<readonly BillLine[]> {
  const rows = await cellsOf(csv.replace(/^\uFEFF/, ''))
  const [header, ...body] = rows
  if (header === undefined) throw fieldError('csv', 'csv_empty')
  const columns = columnsOf(header)
  if (body.length > LINES_MAX) throw fieldError('csv', 'lines_most', { most: LINES_MAX })
  const lines = body.filter((row) => !isTotal(row)).map((row) => lineOf(row, columns, currency))
  if (lines.length === 0) throw fieldError('csv', 'csv_empty', {}, 'has no lines below its header')
  return lines
}

interface Columns {
  readonly at: Readonly<Record<'period' | 'model' | 'amount', number>>
  /** null = the file has no such column. */
  readonly currencyAt: number | null
  /** The currency in the name of the amount's column. */
  readonly currency: string | null
  readonly separator: string
}

/** Reads RFC 4180 with any of the usual separators: the header's most frequent one. */
async function cellsOf(csv: string): Promise<(readonly Cell[] & { separator?: string })[]> {
  const head = csv.slice(0, csv.search(/[\r\n]|$/))
  const separator = [',', ';', '\t'].reduce((best, each) =>
    head.split(each).length > head.split(best).length ? each : best,
  )
  const rows: Cell[][] = []
  let row: Cell[] = []
  let [text, quoted, line, cellLine, isBlank] = ['', false, 1, 1, true]
  const add = (sign: string): void => {
    if (sign > ' ') isBlank = false
    if (text.length < CELL_CHARS_MAX) text += sign
  }
  const endCell = (): void => {
    row.push({ text: text.trim(), line: cellLine })
    text = ''
    isBlank = true
    cellLine = line
  }
  const endRow = (): void => {
    endCell()
    if (row.some((cell) => cell.text !== '')) rows.push(row)
    row = []
  }
  for (let at = 0, turnAt = TURN_CHARS; at < csv.length; at += 1) {
    if (at >= turnAt) {
      turnAt += TURN_CHARS
      await nextTurn()
    }
    const sign = csv[at] ?? ''
    if (sign === '\n') line += 1
    if (quoted) {
      if (sign !== '"') add(sign)
      else if (csv[at + 1] === '"') {
        add('"')
        at += 1
      } else quoted = false
    } else if (sign === '"' && isBlank) quoted = true
    else if (sign === separator) endCell()
    else if (sign === '\n') {
      endRow()
      cellLine = line
    } else if (sign !== '\r') add(sign)
  }
  if (quoted) throw fieldError('csv', 'csv_open_quote', { line: cellLine })
  endRow()
  return rows.map((cells) => Object.assign(cells, { separator }))
}

function columnsOf(header: readonly Cell[] & { separator?: string }): Columns {
  const names = header.map(({ text }) => nameOf(text))
  const find = (column: BillColumn): number | null =>
    NAMES[column].map((name) => names.indexOf(name)).find((at) => at !== -1) ?? null
  const needed = (column: BillColumn, found: number | null): number => {
    if (found !== null) return found
    throw fieldError(
      'csv',
      'csv_no_column',
      { column, names: NAMES[column].join(', ') },
      `line 1: no column of the ${column}: expected one of ${NAMES[column].join(', ')}, got ${header.map(({ text }) => `'${text.slice(0, 40)}'`).join(', ')}`,
    )
  }
  const inName = names.findIndex((name) => AMOUNT_IN.test(name))
  const amount = find('amount') ?? (inName === -1 ? null : inName)
  return {
    at: {
      period: needed('period', find('period')),
      model: needed('model', find('model')),
      amount: needed('amount', amount),
    },
    currencyAt: find('currency'),
    currency: AMOUNT_IN.exec(names[amount ?? 0] ?? '')?.[1]?.toUpperCase() ?? null,
    separator: header.separator ?? ',',
  }
}

function nameOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '')
}

function isTotal([first]: readonly Cell[]): boolean {
  return /^(?:sub|grand )?total\b|^итог/i.test(first?.text ?? '')
}

function lineOf(row: readonly Cell[], columns: Columns, given: string | null): BillLine {
  const line = row[0]?.line ?? 0
  const fail = (at: number, what: string, expected: string): never => {
    throw fieldError(
      'csv',
      'csv_cell',
      { line, column: at + 1 },
      `line ${line}, column ${at + 1}: ${what} must be ${expected}, got '${(row[at]?.text ?? '').slice(0, 60)}'`,
    )
  }
  const { at, currencyAt } = columns
  const model = row[at.model]?.text ?? ''
  if (model === '') fail(at.model, 'the model', 'a name')
  const period =
    periodOf(row[at.period]?.text ?? '') ??
    fail(
      at.period,
      'the date',
      'a day such as 2026-11-20, a month such as 2026-11, or two days such as 2026-11-01/2026-11-30',
    )
  const amount =
    amountOf(row[at.amount]?.text ?? '', columns.separator) ?? fail(at.amount, 'the amount', 'a number such as 1234.56')
  const named = currencyAt === null ? '' : (row[currencyAt]?.text ?? '').toUpperCase()
  const currency = named === '' ? (columns.currency ?? given) : named
  if (currency === null) throw fieldError('csv', 'csv_no_currency', { line })
  if (!CURRENCY.test(currency)) fail(currencyAt ?? at.amount, 'the currency', 'a code such as USD')
  return { line, ...period, model, amount, currency }
}

function periodOf(text: string): { readonly from: string; readonly to: string } | null {
  const range = RANGE.exec(text)
  const month = MONTH.exec(text)
  const [, day, monthNumber, year] = RUSSIAN_DAY.exec(text) ?? []
  const single = DAY.exec(text)?.[1] ?? (year === undefined ? undefined : `${year}-${monthNumber}-${day}`)
  const [from, to] =
    range !== null
      ? [range[1], range[2]]
      : month !== null
        ? [`${text}-01`, lastOf(Number(month[1]), Number(month[2]))]
        : [single, single]
  if (from === undefined || to === undefined || !isDay(from) || !isDay(to) || from > to) return null
  return { from, to }
}

function lastOf(year: number, month: number): string {
  return isoDay(Date.UTC(year, month, 0))
}

/**
 * Reads `$1,234.56`, `1 234,56` and `1.2e-05`. The last point or comma is the decimal sign; a single comma is one only
 * if commas do not separate cells.
 */
function amountOf(text: string, separator: string): Decimal | null {
  const plain = text.replaceAll(/[\s\u00A0\u202F$€₽]/g, '')
  const [comma, point] = [plain.lastIndexOf(','), plain.lastIndexOf('.')]
  if (comma === -1) return parseDecimal(plain)
  if (point > comma) return /^[+-]?\d{1,3}(?:,\d{3})+\./.test(plain) ? parseDecimal(plain.replaceAll(',', '')) : null
  if (point !== -1)
    return /^[+-]?\d{1,3}(?:\.\d{3})+,/.test(plain) ? parseDecimal(plain.replaceAll('.', '').replace(',', '.')) : null
  if (separator === ',') return /^[+-]?\d{1,3}(?:,\d{3})+$/.test(plain) ? parseDecimal(plain.replaceAll(',', '')) : null
  return plain.indexOf(',') === comma ? parseDecimal(plain.replace(',', '.')) : null
}
