import { CSV_TYPE, csvLine } from '../../../src/lib/csv.ts'
import { today } from './day-range.ts'
import type { Column } from './List.tsx'
import { saveFile } from './save-file.ts'

/** Rows of one file. A longer list is narrowed by its filters. */
export const CSV_ROWS_MAX = 100_000
const CALL_ROWS = 1_000
/** Spreadsheets take a text for UTF-8 only with it. */
const BYTE_ORDER_MARK = '\uFEFF'

/** Every row of a list that is longer than the page. */
export type EveryRow<Row> = () => AsyncGenerator<readonly Row[], void>

/** Pages of a list that takes `limit` and `offset`. */
export function everyPage<Row>(
  read: (range: { readonly limit: number; readonly offset: number }) => Promise<{ readonly data: readonly Row[] }>,
): EveryRow<Row> {
  return async function* pages() {
    for (let offset = 0; ; offset += CALL_ROWS) {
      const { data } = await read({ limit: CALL_ROWS, offset })
      yield data
      if (data.length < CALL_ROWS) return
    }
  }
}

/** Pages of a list that takes a cursor. */
export function everyCursor<Row>(
  read: (cursor: string | null) => Promise<{ readonly data: readonly Row[]; readonly next_cursor: string | null }>,
): EveryRow<Row> {
  return async function* pages() {
    for (let cursor: string | null = null; ;) {
      const answer: { readonly data: readonly Row[]; readonly next_cursor: string | null } = await read(cursor)
      yield answer.data
      if (answer.next_cursor === null) return
      cursor = answer.next_cursor
    }
  }
}

/** Saves the columns that have a value, as they stand in the list. Whether there were more rows than a file has. */
export async function saveCsv<Row>(
  name: string,
  columns: readonly Column<Row>[],
  everyRow: EveryRow<Row>,
): Promise<'all' | 'cut'> {
  const written = columns.flatMap(({ title, value }) => (value === undefined ? [] : [{ title, value }]))
  const lines = [BYTE_ORDER_MARK, csvLine(written.map(({ title }) => title))]
  let left = CSV_ROWS_MAX
  let isCut = false
  for await (const rows of everyRow()) {
    for (const row of rows.slice(0, left)) lines.push(csvLine(written.map(({ value }) => value(row))))
    isCut = rows.length > left
    left -= Math.min(left, rows.length)
    if (isCut) break
  }
  saveFile(`tollgate-${name}-${today()}.csv`, CSV_TYPE, lines.join(''))
  return isCut ? 'cut' : 'all'
}
