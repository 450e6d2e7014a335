import { randomInt } from 'node:crypto'
import type { BookSeal } from '../audit/book-seal.ts'
import { big, integer, type Row } from '../database.ts'
import { directStatements, hasDirect, type DirectChanges } from '../ledger/direct-changes.ts'
import type { SqliteDatabase } from './database.ts'
import { diskFault } from './disk-fault.ts'
import { decodeRows, encodeRows, PendingRows, type CommitRows } from './pending-rows.ts'
import { leftRecords, RowJournal, type JournalBytes } from './row-journal.ts'
import { SqliteRollup } from './rollup.ts'
import { SELECT_POSITION, TableWrites } from './table-writes.ts'

const MARKS = 2 ** 32

/**
 * Whether the next rows may go into the journal. Each change makes a new object, so that code that has waited can
 * detect it.
 */
type Journaling =
  /** While the database's `failedSyncs` is the same, everything that a record depends on is on the disk. */
  | { readonly at: 'open'; readonly failedSyncs: number }
  /**
   * Rows go straight to their tables until a commit there has succeeded, because nothing is durable yet or the disk
   * failed.
   */
  | { readonly at: 'barred' }

export interface JournaledRowsPorts {
  readonly database: SqliteDatabase
  readonly seal: BookSeal
  readonly bytes: JournalBytes
  /** The number of charges in the journal after which they are written into their tables and the sums. */
  readonly charges: number
}

/**
 * How rows reach the disk. A commit is durable when its rows are a record of the journal. Rows go to their tables many
 * at a time, before any other read or write. If there is no journal, or no room in it, they go to their tables at once;
 * for the caller only the sync that follows differs.
 */
export class JournaledRows {
  readonly #ports: JournaledRowsPorts
  readonly #inTables: (holdIds: Iterable<string>) => void
  readonly #rollup: SqliteRollup
  #journal: RowJournal
  /** Rows that are in the journal, and their way into the tables. */
  #tables: TableWrites
  #journaling: Journaling = { at: 'barred' }
  /** Whether the last write into tables failed. */
  isFailing = false

  /** `inTables` is called with the ids of holds that are now in their table. */
  constructor(ports: JournaledRowsPorts, inTables: (holdIds: Iterable<string>) => void) {
    this.#ports = ports
    this.#inTables = inTables
    this.#rollup = new SqliteRollup(ports.database)
    this.#tables = new TableWrites(ports.database, this.#rollup, ports.charges)
    this.#journal = new RowJournal(ports.bytes, { position: 0n, mark: 0 })
  }

  /**
   * Writes rows that an earlier process left in the journal into their tables. Returns the damage that was found, for
   * the operator; null = none.
   */
  open(): string | null {
    const { database, bytes, charges } = this.#ports
    const { rows, position, cut } = leftRows(bytes.read(), database.prepare(SELECT_POSITION).get() ?? {})
    this.#tables = new TableWrites(database, this.#rollup, charges, rows)
    // The mark changes: with this commit everything in the file is in its tables.
    this.#journal = new RowJournal(bytes, { position, mark: newMark() })
    try {
      // The mark is written even if there are no rows.
      this.#writeTables(new PendingRows().rows)
    } catch (thrown) {
      // If the disk is full, the next commit, which begins with these rows, fails too; until then nothing is sold.
      if (diskFault(thrown) === null) throw thrown
    }
    this.#rollup.open()
    return cut === 0
      ? null
      : `The journal of the embedded store has ${cut} records behind one that is missing. They are left out: the disk lost it before it was written, or tollgate.rows is damaged. Check the books with: tollgate audit`
  }

  /** Rows that were written long enough ago move on to their tables. */
  makeRoom(): void {
    if (this.#tables.isMuch || this.#journal.isFilling) {
      this.finish()
      this.#begin()
    }
    this.#step(this.#tables.sliceRows)
  }

  /**
   * Writes rows, and changes that cannot go through the journal. Returns whether `syncJournal` makes them durable;
   * otherwise `syncTables` does.
   */
  write(rows: CommitRows, changes: DirectChanges | null = null): boolean {
    const { database } = this.#ports
    const isOpen = this.#journaling.at === 'open' && this.#journaling.failedSyncs === database.failedSyncs
    if (isOpen && (changes === null || !hasDirect(changes)) && this.#appended(rows)) return true
    this.finish()
    // The journal must not build on these changes before they are on the disk.
    this.#bar()
    this.#writeTables(rows, changes)
    return false
  }

  async syncJournal(): Promise<void> {
    try {
      await this.#journal.sync()
    } catch (thrown) {
      this.#bar()
      throw thrown
    }
  }

  async syncTables(): Promise<void> {
    const { database } = this.#ports
    const before = this.#journaling
    await database.sync()
    // A reader made holds be written meanwhile, which may not be on the disk: the next commit goes to the tables too.
    if (this.#journaling !== before) return
    const { failedSyncs } = database
    try {
      this.#journal.restart()
      this.#journaling = { at: 'open', failedSyncs }
    } catch (thrown) {
      // Without the journal's file all rows go to the tables.
      if (diskFault(thrown) === null) throw thrown
    }
  }

  /** Whether the newest row of a hold is not in its table yet. */
  hasHold(id: string): boolean {
    return this.#tables.waiting.hasHold(id)
  }

  /** Writes some rows into their tables. Returns whether more rows are to follow. */
  moveSome(): boolean {
    if (!this.#tables.isMoving) this.#begin()
    this.#step(this.#tables.sliceRows)
    return this.#tables.isMoving
  }

  /** Finishes the writing of rows that `moveSome` began. */
  finish(): void {
    this.#step(Number.POSITIVE_INFINITY)
  }

  /** Writes all rows into their tables. */
  checkpoint(): void {
    this.finish()
    this.#begin()
    this.finish()
  }

  /** Writes all rows into their tables, and updates the sums. */
  flush(): void {
    this.checkpoint()
    this.#rollup.catchUp()
  }

  /**
   * Updates the sums of a key with all its charges; null = those of every key. The sums are calculated from the log's
   * table.
   */
  catchUp(keyId: string | null): void {
    this.finish()
    const { waiting } = this.#tables
    if (keyId === null ? waiting.logged > 0 : waiting.hasLogOf(keyId)) this.checkpoint()
    this.#rollup.catchUp()
  }

  #bar(): void {
    this.#journaling = { at: 'barred' }
  }

  /** false = the journal has no room for the rows. */
  #appended(rows: CommitRows): boolean {
    const payload = encodeRows(rows)
    if (!this.#journal.fits(payload.length)) return false
    try {
      this.#journal.append(payload)
    } catch (thrown) {
      this.#bar()
      throw thrown
    }
    this.#tables.waiting.add(rows)
    return true
  }

  #begin(): void {
    if (this.#tables.waiting.isEmpty) return
    this.#orFailing(() => this.#tables.begin(this.#journal.position))
    if (this.#journaling.at === 'open') this.#journal.leave()
  }

  #step(rowsMax: number): void {
    const rows = this.#orFailing(() => this.#tables.step(rowsMax))
    if (rows === null) return
    this.#areInTables(rows)
    if (this.#journaling.at === 'open')
      void this.#journal.freed(() => this.#ports.database.sync()).catch(() => this.#bar())
  }

  #writeTables(rows: CommitRows, direct: DirectChanges | null = null): void {
    const { database, seal } = this.#ports
    const further = (): void => {
      if (direct === null) return
      const statements = directStatements(direct, seal)
      for (let next = statements.next(); next.done !== true;) {
        const [text, values] = next.value
        next = statements.next(database.prepare(text).get(...values))
      }
    }
    this.#areInTables(this.#orFailing(() => this.#tables.write(rows, this.#journal.position, further)))
  }

  #orFailing<T>(work: () => T): T {
    try {
      return work()
    } catch (thrown) {
      this.#bar()
      this.isFailing = true
      throw thrown
    }
  }

  #areInTables(rows: PendingRows): void {
    this.isFailing = false
    this.#inTables([...rows.holdIds()].map(String))
  }
}

/** The rows of a journal after the position of `SELECT_POSITION`, and the position once they are written. */
export function leftRows(
  bytes: Buffer,
  row: Row,
): { readonly rows: PendingRows; readonly position: bigint; readonly cut: number } {
  const position = big(row, 'position')
  const { payloads, cut } = leftRecords(bytes, { position, mark: integer(row, 'mark') })
  const rows = new PendingRows()
  for (const payload of payloads) rows.add(decodeRows(payload))
  return { rows, position: position + BigInt(payloads.length), cut }
}

/** The mark is random, so that a journal from another time, as of a restored backup, does not match. */
export function newMark(): number {
  return randomInt(MARKS)
}
