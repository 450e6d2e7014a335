import { CSV_TYPE, csvLine } from '../../../src/base/csv.ts'
import { address, type AnyInput, type Input, type ReadEndpoint } from '../api/endpoint.ts'
import { today } from './day-range.ts'
import type { Column } from './List.tsx'
import { saveFile } from './save-file.ts'

/** Spreadsheets take a text for UTF-8 only with it. */
const BYTE_ORDER_MARK = '\uFEFF'

/** The address of the server's file of all that a list's query finds. */
export function fileAddress<E extends ReadEndpoint>(endpoint: E, input: Input<E>): string {
  // A field of AnyInput has this type in every Input<E>, or is absent there.
  const { params = {}, query = {} } = input as AnyInput
  return address(endpoint, { params, query: { ...query, format: 'csv' } })
}

/** Saves the columns that have a value, as they stand in a list whose rows are all here. */
export function saveCsv<Row>(name: string, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const written = columns.flatMap(({ title, value }) => (value === undefined ? [] : [{ title, value }]))
  const lines = rows.map((row) => csvLine(written.map(({ value }) => value(row))))
  const text = [BYTE_ORDER_MARK, csvLine(written.map(({ title }) => title)), ...lines].join('')
  saveFile(`tollgate-${name}-${today()}.csv`, CSV_TYPE, text)
}
