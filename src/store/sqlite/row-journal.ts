import { ALIGN_BYTES, record, recordAt, recordBytes } from './journal-records.ts'

/** From this part on a half is left as soon as the other one is free, so that there is room for a large batch. */
const LEAVE_PART = 1 / 4
/** From this part on the rows of a half should go to their tables. */
const FULL_PART = 5 / 8

/**
 * The file of a journal, in two halves used in turn: one is written to while the rows of the other reach the disk in
 * their tables. No record is in both.
 */
export interface JournalBytes {
  readonly halfBytes: number
  /** All that was written, and what was there before. */
  read(): Buffer
  /** Makes room on the disk; nothing where it is there. */
  allocate(): void
  write(bytes: Buffer, at: number): void
  /** Resolves when everything written so far is on the disk. */
  sync(): Promise<void>
  close(): void
}

/** How far the rows of a journal are in their tables, as the database has it. */
export interface JournalPosition {
  /** Number of the last record whose rows are there. */
  readonly position: bigint
  /** Seed of the checksums: a journal of another store, or of another time of this one, is none of it. */
  readonly mark: number
}

export interface LeftRecords {
  /** In the order they were written. */
  readonly payloads: readonly Buffer[]
  /** Whole records behind one that is missing: the disk lost power before it had that one, or it is spoilt. */
  readonly cut: number
}

/** The records of a journal that are not in the tables yet, in halves of any size. */
export function leftRecords(bytes: Buffer, { position, mark }: JournalPosition): LeftRecords {
  const found = new Map<bigint, Buffer>()
  for (let at = 0; at < bytes.length;) {
    const one = recordAt(bytes, at, null, mark)
    at += one === null ? ALIGN_BYTES : recordBytes(one.payload.length)
    if (one !== null && one.epoch > position) found.set(one.epoch, one.payload)
  }
  const payloads: Buffer[] = []
  for (let next = position + 1n; ; next += 1n) {
    const payload = found.get(next)
    if (payload === undefined) return { payloads, cut: found.size - payloads.length }
    payloads.push(payload)
  }
}

/**
 * The rows of commits that their tables do not have yet, on the disk: numbered records, appended. A record counts only
 * with all before it, and until its number is the database's position.
 */
export class RowJournal {
  readonly #bytes: JournalBytes
  #mark: number
  /** Number of the last record, written or given up. */
  #last: bigint
  #half: 0 | 1 = 0
  #offset = 0
  /** The rows of the half that is not written to are on the disk in their tables. */
  #isOtherFree = true
  /** Times that a half was left. */
  #turns = 0

  constructor(bytes: JournalBytes, { position, mark }: JournalPosition) {
    this.#bytes = bytes
    this.#mark = mark
    this.#last = position
  }

  /** The position of a database that has the rows of every record. */
  get position(): JournalPosition {
    return { position: this.#last, mark: this.#mark }
  }

  /** Makes room on the disk, and begins anew: the database has, on the disk, the position and all rows. */
  restart(): void {
    this.#bytes.allocate()
    this.#half = 0
    this.#offset = 0
    this.#isOtherFree = true
    this.#turns += 1
  }

  fits(payloadBytes: number): boolean {
    return this.#offset + recordBytes(payloadBytes) <= this.#bytes.halfBytes
  }

  /** On the disk with the next `sync`. A record that throws is given up: its number is not used again. */
  append(payload: Buffer): void {
    this.#last += 1n
    const bytes = record(payload, this.#last, this.#mark)
    this.#bytes.write(bytes, this.#half * this.#bytes.halfBytes + this.#offset)
    this.#offset += bytes.length
  }

  sync(): Promise<void> {
    return this.#bytes.sync()
  }

  /** So much is written to this half that its rows should go to their tables. */
  get isFilling(): boolean {
    return this.#offset > this.#bytes.halfBytes * FULL_PART
  }

  /** The rows of all records are going to their tables: the next ones are written to the other half if it is free. */
  leave(): void {
    if (this.#offset < this.#bytes.halfBytes * LEAVE_PART || !this.#isOtherFree) return
    this.#half = this.#half === 0 ? 1 : 0
    this.#offset = 0
    this.#isOtherFree = false
    this.#turns += 1
  }

  /** The tables have the rows of the half that was left; `durable` resolves when they are on the disk there. */
  async freed(durable: () => Promise<void>): Promise<void> {
    if (this.#isOtherFree) return
    const turn = this.#turns
    await durable()
    if (turn === this.#turns) this.#isOtherFree = true
  }

  close(): void {
    this.#bytes.close()
  }
}
