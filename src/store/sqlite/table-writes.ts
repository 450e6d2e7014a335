import type { SqlValue } from '../database.ts'
import type { SqliteDatabase } from './database.ts'
import { PendingRows, runAll, type CommitRows } from './pending-rows.ts'
import type { SqliteRollup } from './rollup.ts'
import type { JournalPosition } from './row-journal.ts'

export const SELECT_POSITION = 'SELECT position, mark FROM row_journal'
export const SET_POSITION = 'UPDATE row_journal SET position = ?, mark = ?'
/** The number of slices in which many rows are written; each takes about a millisecond. */
const SLICES = 24
/** Rows of a charge: of the hold, the entry and the log. */
const ROWS_A_CHARGE = 3
/** Holds in the journal per charge of `charges` after which they are written even without as many charges. */
const HOLDS_A_CHARGE = 4

/** Rows that are being written, in a transaction that stays open between slices. */
interface Moving {
  readonly rows: PendingRows
  /** One step for each row; `true` = the slice ends after it. */
  readonly steps: Iterator<true | void>
}

/** The rows of the journal that wait for their tables, and the writing of them. What throws has changed no table. */
export class TableWrites {
  readonly #database: SqliteDatabase
  readonly #rollup: SqliteRollup
  readonly #charges: number
  #waiting: PendingRows
  #moving: Moving | null = null

  /** `charges`: the number that is written together. */
  constructor(database: SqliteDatabase, rollup: SqliteRollup, charges: number, waiting = new PendingRows()) {
    this.#database = database
    this.#rollup = rollup
    this.#charges = charges
    this.#waiting = waiting
  }

  /** Without the rows that are being written. */
  get waiting(): PendingRows {
    return this.#waiting
  }

  get isMoving(): boolean {
    return this.#moving !== null
  }

  /** Whether so many rows wait that they should be written. */
  get isMuch(): boolean {
    return this.#waiting.logged >= this.#charges || this.#waiting.holds >= HOLDS_A_CHARGE * this.#charges
  }

  get sliceRows(): number {
    return Math.ceil((this.#charges * ROWS_A_CHARGE) / SLICES)
  }

  /** Writes all waiting rows, and further rows and changes, at once. Returns the rows. */
  write(rows: CommitRows, position: JournalPosition, further: () => void): PendingRows {
    const all = this.#waiting.with(rows)
    this.#orReset(() =>
      this.#database.atomically(() => {
        runAll(this.#steps(all, position))
        further()
      }),
    )
    this.#waiting = new PendingRows()
    return all
  }

  /** Opens the transaction for all waiting rows: those of the records up to `position`. */
  begin(position: JournalPosition): void {
    this.#orReset(() => this.#database.openForLater())
    this.#moving = { rows: this.#waiting, steps: this.#steps(this.#waiting, position) }
    this.#waiting = new PendingRows()
  }

  /** Writes some of the rows of `begin`. Returns all once they are committed; null = not yet, or none. */
  step(rowsMax: number): PendingRows | null {
    const moving = this.#moving
    if (moving === null) return null
    return this.#orReset(() => {
      for (let rows = 0; rows < rowsMax; rows += 1) {
        const { done, value } = moving.steps.next()
        if (done === true) {
          this.#database.closeOpened(true)
          this.#moving = null
          return moving.rows
        }
        if (value === true && rowsMax !== Number.POSITIVE_INFINITY) return null
      }
      return null
    })
  }

  #orReset<T>(work: () => T): T {
    try {
      return work()
    } catch (thrown) {
      if (this.#moving !== null) this.#takeBack(this.#moving)
      this.#rollup.reset()
      throw thrown
    }
  }

  /** The rows wait again, before those that were added since. */
  #takeBack({ rows }: Moving): void {
    this.#moving = null
    this.#waiting = rows.with(this.#waiting.rows)
    this.#database.closeOpened(false)
  }

  *#steps(rows: PendingRows, { position, mark }: JournalPosition): Generator<true | void> {
    yield* rows.write((text, values) => this.#run(text, values))
    this.#run(SET_POSITION, [position, BigInt(mark)])
    this.#rollup.added(rows.logged)
    if (this.#rollup.behind < this.#charges) return
    yield true
    this.#rollup.catchUp()
    yield true
  }

  #run(text: string, values: readonly SqlValue[]): void {
    this.#database.prepare(text).run(...values)
  }
}
