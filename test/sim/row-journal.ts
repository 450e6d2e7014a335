import type { JournalBytes } from '../../src/store/sqlite/row-journal.ts'
import { DiskFullError } from './disk.ts'
import type { Link } from './link.ts'
import type { Random } from './random.ts'

/** So small that both halves are used, and that a large batch finds no room. */
const HALF_BYTES = 12 * 1_024

interface Unsynced {
  readonly at: number
  /** What stood there before. */
  readonly before: Buffer
}

/** The file of the embedded store's journal as it lies on its machine's disk: it outlives processes. */
export class RowDisk {
  readonly bytes: Buffer = Buffer.alloc(2 * HALF_BYTES)
  unsynced: Unsynced[] = []

  /** What was not synced is there, or not, or in part, in any order. */
  losePower(random: Random): void {
    for (const { at, before } of this.unsynced.toReversed()) {
      const kept = partOf(before.length, random)
      before.copy(this.bytes, at + kept, kept)
    }
    this.unsynced = []
  }
}

/** The journal's file as a process has it: it takes virtual time, and fails. */
export class SimRowJournal implements JournalBytes {
  readonly halfBytes = HALF_BYTES
  readonly #disk: RowDisk
  readonly #link: Link
  readonly #random: Random
  readonly #written: () => void

  /** `written` hears of each write. */
  constructor(disk: RowDisk, link: Link, random: Random, written: () => void) {
    this.#disk = disk
    this.#link = link
    this.#random = random
    this.#written = written
  }

  read(): Buffer {
    return this.#disk.bytes
  }

  allocate(): void {}

  write(bytes: Buffer, at: number): void {
    const fails = this.#link.fault() === 'before'
    const written = fails ? bytes.subarray(0, partOf(bytes.length, this.#random)) : bytes
    this.#disk.unsynced.push({ at, before: Buffer.from(this.#disk.bytes.subarray(at, at + written.length)) })
    written.copy(this.#disk.bytes, at)
    this.#written()
    if (fails) throw new DiskFullError('The disk of the journal refuses.')
  }

  async sync(): Promise<void> {
    const synced = new Set(this.#disk.unsynced)
    await this.#link.latency()
    if (this.#link.fault() !== null) throw new DiskFullError('fdatasync failed')
    this.#disk.unsynced = this.#disk.unsynced.filter((one) => !synced.has(one))
  }

  close(): void {}
}

/** What of a write a failing disk has: nothing, a part, or all of it, which a refusal does not exclude. */
function partOf(length: number, random: Random): number {
  return random.pick([0, random.below(length + 1), length])
}
