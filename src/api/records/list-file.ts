import { BYTE_ORDER_MARK, csvLine, type CsvFormat, type CsvValue } from '../../base/csv.ts'
import { ownValue } from '../../base/own-value.ts'
import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { choiceParameter, wholeParameter } from '../../base/query-parameters.ts'
import type { JsonSchema } from '../../base/schema.ts'
import { isoDay } from '../../base/time.ts'
import type { Call, HIJACKED } from '../../http/edge.ts'
import type { MediaType } from '../../base/wire-route.ts'
import { sendCsv } from '../../http/reply.ts'
import type { Page, PageRange } from '../../store/page.ts'
import { FileFormat } from './route-rows.ts'

/** Rows of one read, which takes some milliseconds. */
const FILE_READ_ROWS = 300

/** Only lists that take an offset have a cursor. */
export interface ListRange extends PageRange {
  readonly cursor: string | null
}

/** The rows of a page of a list, and where the next one begins. */
export interface ListedRows {
  readonly data: readonly object[]
  readonly next_cursor?: string | null
}

/** A list of an API: the route, and how many rows a page has. */
interface ListRow {
  /** The route, such as `GET /admin/v1/codes`; its last word names the file. */
  readonly key: string
  readonly answer: JsonSchema | MediaType
  readonly usual: number
  readonly most: number
}

/** A page of the store as the body of an answer. */
export function listBody<T, W>(
  { data, total, atLeast = false, next }: Page<T>,
  wire: (row: T) => W,
): {
  readonly data: readonly W[]
  readonly total: number
  readonly total_exact?: false
  readonly next_cursor?: string
} {
  return {
    data: data.map(wire),
    total,
    ...(atLeast ? { total_exact: false } : {}),
    ...(next === undefined ? {} : { next_cursor: next }),
  }
}

/**
 * A list: one page, or with `format=csv` a file of all filtered rows, whatever their number. The next rows are read
 * after the client has taken those before, and no more are read once the client has left.
 */
export async function listReply<T extends ListedRows>(
  call: Call<unknown>,
  clock: Clock,
  { key, answer, usual, most }: ListRow,
  read: (range: ListRange) => Promise<T>,
): Promise<{ readonly status: 200; readonly body: T } | typeof HIJACKED> {
  assert(!('media' in answer), 'A list is JSON.')
  const { query } = call
  const format = choiceParameter(query, 'format', FileFormat)
  if (format !== null) {
    const name = `tollgate-${key.split('/').at(-1)}-${isoDay(clock.now())}.csv`
    const range = { limit: FILE_READ_ROWS, offset: 0, uncounted: true }
    return sendCsv(
      call,
      name,
      listLines(answer, (cursor) => read({ ...range, cursor }), format),
    )
  }
  const limit = wholeParameter(query, 'limit', 1, most) ?? usual
  const offset = wholeParameter(query, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0
  return { status: 200, body: await read({ limit, offset, cursor: query.get('cursor') }) }
}

/**
 * All rows of a list as CSV (RFC 4180), with the fields of its answer. Rows are read while their file is sent, a page
 * at a time.
 */
export async function* listLines(
  answer: JsonSchema,
  read: (cursor: string | null) => Promise<ListedRows>,
  format: CsvFormat = 'csv',
): AsyncGenerator<string, void> {
  const columns = fieldsOf(answer.properties?.['data']?.items ?? {}, '')
  let head = BYTE_ORDER_MARK + csvLine(columns, format)
  for (let cursor: string | null = null; ;) {
    const { data, next_cursor: next = null }: ListedRows = await read(cursor)
    yield (
      head +
        data
          .map((row) =>
            csvLine(
              columns.map((column) => cellOf(row, column)),
              format,
            ),
          )
          .join('')
    )
    if (next === null) return
    head = ''
    cursor = next
  }
}

/** The names of the columns. The fields of an object in a row are columns of their own, such as `rate_limit.window`. */
function fieldsOf(schema: JsonSchema, before: string): readonly string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const inner = [field, ...(field.anyOf ?? [])].find(({ properties }) => properties !== undefined)
    return inner === undefined ? [before + name] : fieldsOf(inner, `${before}${name}.`)
  })
}

/** The cell of a column; lists and maps are written as JSON. */
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
