import { ALIGN_BYTES, record, recordAt, recordBytes } from './journal-records.ts'

/**
 * When a half is filled to this share and the other one is free, the journal changes to the other, so that there is
 * room for a large batch.
 */
const LEAVE_PART = 1 / 4
/** When a half is filled to this share, its rows should go to their tables. */
const FULL_PART = 5 / 8

/**
 * The file of a journal, in two halves that are used in turn: one is written while the rows of the other reach the disk
 * in their tables. No record is in both halves.
 */
export interface JournalBytes {
  readonly halfBytes: number
  /** All bytes, those from before this process included. */
  read(): Buffer
  /** Makes room on the disk; does nothing if it is there. */
  allocate(): void
  write(bytes: Buffer, at: number): void
  /** Resolves when everything written so far is on the disk. */
  sync(): Promise<void>
  close(): void
}

/** Up to which record the rows of a journal are in their tables, as the database has it. */
export interface JournalPosition {
  /** Number of the last record whose rows are there. */
  readonly position: bigint
  /** Seed of the checksums, so that records of another store, or of this store at another time, do not match. */
  readonly mark: number
}

export interface LeftRecords {
  /** In the order in which they were written. */
  readonly payloads: readonly Buffer[]
  /** The number of whole records after a missing one, which is damaged or was not on the disk when the power failed. */
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
 * The rows of commits that are not in their tables yet, on the disk as numbered records. A record counts only if all
 * records before it are there, and until the database's position reaches its number.
 */
export class RowJournal {
  readonly #bytes: JournalBytes
  #mark: number
  /** Number of the last record, whether it was written or given up. */
  #last: bigint
  #half: 0 | 1 = 0
  #offset = 0
  /** Whether the rows of the half that is not being written are on the disk in their tables. */
  #isOtherFree = true
  /** How often a half was left. */
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

  /** Makes room on the disk and begins anew: the position and all rows are on the disk in the database. */
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

  /**
   * The record is on the disk after the next `sync`. If this throws, the record is given up and its number is not used
   * again.
   */
  append(payload: Buffer): void {
    this.#last += 1n
    const bytes = record(payload, this.#last, this.#mark)
    this.#bytes.write(bytes, this.#half * this.#bytes.halfBytes + this.#offset)
    this.#offset += bytes.length
  }

  sync(): Promise<void> {
    return this.#bytes.sync()
  }

  /** Whether this half is so full that its rows should go to their tables. */
  get isFilling(): boolean {
    return this.#offset > this.#bytes.halfBytes * FULL_PART
  }

  /** The rows of all records are on their way to their tables: later records go to the other half if it is free. */
  leave(): void {
    if (this.#offset < this.#bytes.halfBytes * LEAVE_PART || !this.#isOtherFree) return
    this.#half = this.#half === 0 ? 1 : 0
    this.#offset = 0
    this.#isOtherFree = false
    this.#turns += 1
  }

  /** The rows of the half that was left are in their tables; `durable` resolves when they are on the disk there. */
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
