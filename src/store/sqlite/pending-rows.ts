import { OperatorError } from '../../base/errors.ts'
import type { SqlValue } from '../database.ts'
import {
  HOLD_END_COLUMNS,
  INSERT_ENTRY,
  INSERT_HOLD,
  INSERT_LOG,
  UPDATE_ACCOUNT,
  UPDATE_KEY,
} from '../ledger/ledger-values.ts'
import { LOG_COLUMNS } from '../log/generation-row.ts'

type Values = readonly SqlValue[]

/** The rows of a commit as values of its statements. They have seals, so the audit notices a change. */
export interface CommitRows {
  /** The accounts after the commit: values of the update, then the id. */
  readonly accounts: readonly Values[]
  /** `held`, then the id. */
  readonly keys: readonly Values[]
  /** Whole rows, new or not: the database may have lost a hold that was only in it. */
  readonly holds: readonly Values[]
  readonly entries: readonly Values[]
  readonly log: readonly Values[]
}

/** The version of the order of columns in a record. Other columns, or another order, need another number. */
const LAYOUT = 1
const UPSERT_END = ` ON CONFLICT (id) DO UPDATE SET ${[...HOLD_END_COLUMNS, 'seal'].map((name) => `${name} = excluded.${name}`).join(', ')}`
const UPSERT_HOLD = INSERT_HOLD + UPSERT_END

/** Runs a statement of the database. */
type Run = (text: string, values: Values) => void

/** The rows of one or more commits on their way into their tables; of each account, key and hold the newest. */
export class PendingRows {
  readonly #accounts = new Map<SqlValue, Values>()
  readonly #keys = new Map<SqlValue, Values>()
  readonly #holds = new Map<SqlValue, Values>()
  readonly #entries: Values[] = []
  readonly #log: Values[] = []
  readonly #loggedKeys = new Set<SqlValue>()

  get holds(): number {
    return this.#holds.size
  }

  get logged(): number {
    return this.#log.length
  }

  get isEmpty(): boolean {
    return this.#accounts.size + this.#keys.size + this.#holds.size + this.#log.length === 0
  }

  /** Whether a charge of the key may be among the rows. */
  hasLogOf(keyId: string): boolean {
    return this.#loggedKeys.has(keyId)
  }

  hasHold(id: string): boolean {
    return this.#holds.has(id)
  }

  holdIds(): Iterable<SqlValue> {
    return this.#holds.keys()
  }

  add(rows: CommitRows): void {
    for (const values of rows.accounts) this.#accounts.set(values.at(-1) ?? null, values)
    for (const values of rows.keys) this.#keys.set(values.at(-1) ?? null, values)
    for (const values of rows.holds) this.#holds.set(values[0] ?? null, values)
    for (const values of rows.entries) this.#entries.push(values)
    for (const values of rows.log) {
      this.#log.push(values)
      this.#loggedKeys.add(values[LOG_KEY] ?? null)
    }
  }

  /** These rows and further ones. */
  with(rows: CommitRows): PendingRows {
    const all = new PendingRows()
    all.add(this.rows)
    all.add(rows)
    return all
  }

  get rows(): CommitRows {
    return {
      accounts: [...this.#accounts.values()],
      keys: [...this.#keys.values()],
      holds: [...this.#holds.values()],
      entries: this.#entries,
      log: this.#log,
    }
  }

  /** Yields after each row. */
  *write(run: Run): Generator<void> {
    for (const values of this.#accounts.values()) yield run(UPDATE_ACCOUNT, values)
    for (const values of this.#keys.values()) yield run(UPDATE_KEY, values)
    for (const values of this.#holds.values()) yield run(UPSERT_HOLD, values)
    for (const values of this.#entries) yield run(INSERT_ENTRY, values)
    for (const values of this.#log) yield run(INSERT_LOG, values)
  }
}

/** Runs all steps. */
export function runAll(steps: Iterator<unknown>): void {
  let isDone = false
  while (!isDone) isDone = steps.next().done === true
}

const LOG_KEY = LOG_COLUMNS.names.indexOf('key_id')

const INT64_MAX = 2n ** 63n - 1n

/**
 * Throws a RangeError for a value that no table takes: once it were in the journal, every later write and start would
 * fail on it.
 */
export function encodeRows({ accounts, keys, holds, entries, log }: CommitRows): Buffer {
  return Buffer.from(JSON.stringify([LAYOUT, ...[accounts, keys, holds, entries, log].map(encodeTable)]))
}

function encodeTable(table: readonly Values[]): unknown {
  return table.map((values) => values.map(encodeValue))
}

/** A bigint becomes a number, or a text in a list if it is too large for one. */
function encodeValue(value: SqlValue): unknown {
  if (value instanceof Uint8Array) throw new RangeError('Rows of the journal have no bytes.')
  if (typeof value !== 'bigint') return value
  if (value > INT64_MAX || value < -INT64_MAX) throw new RangeError(`${value} does not fit in a column.`)
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : [String(value)]
}

/** The number of values in a row of each table. */
const WIDTHS = [UPDATE_ACCOUNT, UPDATE_KEY, INSERT_HOLD, INSERT_ENTRY, INSERT_LOG].map(
  (statement) => statement.split('?').length - 1,
)

/** Throws an OperatorError for rows that this program does not know. */
export function decodeRows(payload: Buffer): CommitRows {
  const read: unknown = JSON.parse(payload.toString())
  const [layout, ...tables] = Array.isArray(read) ? (read as unknown[]) : []
  if (layout !== LAYOUT || tables.length !== WIDTHS.length) throw strangeRows()
  const [accounts = [], keys = [], holds = [], entries = [], log = []] = tables.map((table, index) =>
    decodeTable(table, WIDTHS[index]),
  )
  return { accounts, keys, holds, entries, log }
}

function decodeTable(table: unknown, width: number | undefined): readonly Values[] {
  if (!Array.isArray(table)) throw strangeRows()
  return table.map((values: unknown) => {
    if (!Array.isArray(values) || values.length !== width) throw strangeRows()
    return values.map(decodeValue)
  })
}

function decodeValue(value: unknown): SqlValue {
  if (value === null || typeof value === 'string') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  const [text]: unknown[] = Array.isArray(value) ? value : []
  if (typeof text === 'string' && /^-?\d{1,19}$/.test(text)) return BigInt(text)
  throw strangeRows()
}

function strangeRows(): OperatorError {
  return new OperatorError(
    'The embedded store was left with rows of a newer program in tollgate.rows: start that program once and stop it.',
  )
}
