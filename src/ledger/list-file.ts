import { csvLine, type CsvValue } from '../base/csv.ts'
import { ownValue } from '../base/own-value.ts'
import type { JsonSchema } from '../base/schema.ts'

/** Rows of one read: some milliseconds. */
export const FILE_READ_ROWS = 300
/** Spreadsheets take a text for UTF-8 only with it. */
const BYTE_ORDER_MARK = '\uFEFF'

/** The rows of a page of a list, and where the next one begins. */
export interface ListedRows {
  readonly data: readonly object[]
  readonly next_cursor?: string | null
}

/**
 * All rows of a list as CSV (RFC 4180), with the fields of its answer. Rows are read while their file is sent, a page
 * at a time.
 */
export async function* listLines(
  answer: JsonSchema,
  read: (cursor: string | null) => Promise<ListedRows>,
): AsyncGenerator<string, void> {
  const columns = fieldsOf(answer.properties?.['data']?.items ?? {}, '')
  let head = BYTE_ORDER_MARK + csvLine(columns)
  for (let cursor: string | null = null; ;) {
    const { data, next_cursor: next = null }: ListedRows = await read(cursor)
    yield head + data.map((row) => csvLine(columns.map((column) => cellOf(row, column)))).join('')
    if (next === null) return
    head = ''
    cursor = next
  }
}

/** Those of an object in a row are columns of their own, such as `rate_limit.window`. */
function fieldsOf(schema: JsonSchema, before: string): readonly string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const inner = [field, ...(field.anyOf ?? [])].find(({ properties }) => properties !== undefined)
    return inner === undefined ? [before + name] : fieldsOf(inner, `${before}${name}.`)
  })
}

/** Lists and maps are JSON. */
function cellOf(row: object, column: string): CsvValue {
  let value: unknown = row
  for (const name of column.split('.')) value = isRecord(value) ? ownValue(value, name) : null
  if (value === null || value === undefined) return null
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : JSON.stringify(value)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object'
}
