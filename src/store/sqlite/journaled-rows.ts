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

/** Whether the next rows may be a record of the journal; a new object each time, by which a wait sees a change. */
type Journaling =
  /** The disk has all that a record builds on while `failedSyncs`, of the database, stays the same. */
  | { readonly at: 'open'; readonly failedSyncs: number }
  /** Rows go straight to their tables until a commit has succeeded there: nothing is durable yet, or the disk failed. */
  | { readonly at: 'barred' }

export interface JournaledRowsPorts {
  readonly database: SqliteDatabase
  readonly seal: BookSeal
  readonly bytes: JournalBytes
  /** Charges in the journal after which they are written into their tables, with the sums. */
  readonly charges: number
}

/**
 * The way of rows to the disk. A commit is durable when its rows are a record of the journal; they go to their tables
 * many at a time, before anybody else reads or writes. Where there is no journal, or no room in it, they go there at
 * once: who writes rows sees no difference but the sync that follows.
 */
export class JournaledRows {
  readonly #ports: JournaledRowsPorts
  readonly #inTables: (holdIds: Iterable<string>) => void
  readonly #rollup: SqliteRollup
  #journal: RowJournal
  /** Of rows that are in the journal. */
  #tables: TableWrites
  #journaling: Journaling = { at: 'barred' }
  /** The last write into tables failed. */
  isFailing = false

  /** `inTables` hears of holds that have come into their table. */
  constructor(ports: JournaledRowsPorts, inTables: (holdIds: Iterable<string>) => void) {
    this.#ports = ports
    this.#inTables = inTables
    this.#rollup = new SqliteRollup(ports.database)
    this.#tables = new TableWrites(ports.database, this.#rollup, ports.charges)
    this.#journal = new RowJournal(ports.bytes, { position: 0n, mark: 0 })
  }

  /** Writes into their tables what an earlier process has left. Answers the damage that was found, for the operator. */
  open(): string | null {
    const { database, bytes, charges } = this.#ports
    const { rows, position, cut } = leftRows(bytes.read(), database.prepare(SELECT_POSITION).get() ?? {})
    this.#tables = new TableWrites(database, this.#rollup, charges, rows)
    // Another mark: what the file holds so far is in its tables with this commit.
    this.#journal = new RowJournal(bytes, { position, mark: newMark() })
    try {
      // The mark is written where no rows are left, too.
      this.#writeTables(new PendingRows().rows)
    } catch (thrown) {
      // A full disk is met again by the next commit, which begins with these rows; until then nothing is sold.
      if (diskFault(thrown) === null) throw thrown
    }
    this.#rollup.open()
    return cut === 0
      ? null
      : `The journal of the embedded store has ${cut} records behind one that is missing. They are left out: the disk lost it before it was written, or tollgate.rows is damaged. Check the books with: tollgate audit`
  }

  /** Rows that were written long enough ago go on to their tables. */
  makeRoom(): void {
    if (this.#tables.isMuch || this.#journal.isFilling) {
      this.finish()
      this.#begin()
    }
    this.#step(this.#tables.sliceRows)
  }

  /**
   * Writes rows, and changes that the journal has no rows for. Answers whether `syncJournal` makes them durable;
   * `syncTables` does otherwise.
   */
  write(rows: CommitRows, changes: DirectChanges | null = null): boolean {
    const { database } = this.#ports
    const isOpen = this.#journaling.at === 'open' && this.#journaling.failedSyncs === database.failedSyncs
    if (isOpen && (changes === null || !hasDirect(changes)) && this.#appended(rows)) return true
    this.finish()
    // Not to be built on by the journal before it is on the disk.
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
    // A reader has had holds written meanwhile, which may not be on the disk: the next commit goes to the tables too.
    if (this.#journaling !== before) return
    const { failedSyncs } = database
    try {
      this.#journal.restart()
      this.#journaling = { at: 'open', failedSyncs }
    } catch (thrown) {
      // Without the journal's file the tables take everything.
      if (diskFault(thrown) === null) throw thrown
    }
  }

  /** A hold's newest row waits for its table. */
  hasHold(id: string): boolean {
    return this.#tables.waiting.hasHold(id)
  }

  /** Some rows go to their tables. Answers whether more of them follow. */
  moveSome(): boolean {
    if (!this.#tables.isMoving) this.#begin()
    this.#step(this.#tables.sliceRows)
    return this.#tables.isMoving
  }

  /** Rows that are on their way into their tables are there. */
  finish(): void {
    this.#step(Number.POSITIVE_INFINITY)
  }

  /** All rows are in their tables. */
  checkpoint(): void {
    this.finish()
    this.#begin()
    this.finish()
  }

  /** All rows are in their tables, and in the sums. */
  flush(): void {
    this.checkpoint()
    this.#rollup.catchUp()
  }

  /** The sums of a key have all its charges; null = those of every key. They follow from the log in its table. */
  catchUp(keyId: string | null): void {
    this.finish()
    const { waiting } = this.#tables
    if (keyId === null ? waiting.logged > 0 : waiting.hasLogOf(keyId)) this.checkpoint()
    this.#rollup.catchUp()
  }

  #bar(): void {
    this.#journaling = { at: 'barred' }
  }

  /** False where the journal has no room for the rows. */
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

/** The rows of a journal behind the position of `SELECT_POSITION`, and the position after they are written. */
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

/** Random, so that a journal of another time of the store is none of it. */
export function newMark(): number {
  return randomInt(MARKS)
}
