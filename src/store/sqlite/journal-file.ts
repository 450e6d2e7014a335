import { readdir, open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '../../base/errors.ts'
import { makeFolder } from '../../base/folder.ts'
import type { Journal, JournalRecord, JournalTicket } from '../../ledger/end-journal.ts'
import { takeLock, type DirectoryLock } from './directory-lock.ts'
import {
  recordBytes,
  HEADER_BYTES,
  header,
  mayHoldRecords,
  readRecords,
  record,
  RECORD_HEAD_BYTES,
} from './row-journal.ts'
import { thrownMessage } from '../../base/text.ts'

/** Allocated in full at the start, so that it can be written even if the disk is full. */
const SEGMENT_BYTES = 8 * 1_048_576
const ZEROS = Buffer.alloc(1_048_576)

/**
 * One file of the journal: a header with an epoch, then records with the same epoch and a checksum. A new epoch empties
 * it: nothing is allocated or freed while the disk may be full.
 */
class JournalSegment {
  readonly #file: FileHandle
  #epoch: bigint
  #offset: number
  /** Records that the store does not have yet. */
  open: number

  private constructor(file: FileHandle, epoch: bigint, offset: number, open: number) {
    this.#file = file
    this.#epoch = epoch
    this.#offset = offset
    this.open = open
  }

  /** Opens or creates the file; `left`: the payloads that an earlier process wrote. */
  static async open(path: string): Promise<{ readonly segment: JournalSegment; readonly left: readonly Buffer[] }> {
    const file = await open(path, 'a').then(async (made) => {
      await made.close()
      return open(path, 'r+')
    })
    try {
      const { size } = await file.stat()
      if (size < SEGMENT_BYTES) await allocate(file, size)
      const { epoch, end, payloads } = (await isUsed(file))
        ? readRecords(await readBytes(file, SEGMENT_BYTES))
        : readRecords(await readBytes(file, HEADER_BYTES))
      return { segment: new JournalSegment(file, epoch, end, payloads.length), left: payloads }
    } catch (thrown) {
      await file.close()
      throw thrown
    }
  }

  /** Whether a record of this many bytes has room. */
  fits(payloadBytes: number, after = 0): boolean {
    return this.#offset + after + recordBytes(payloadBytes) <= SEGMENT_BYTES
  }

  /** Resolves when the records are on the disk. */
  async append(payloads: readonly Buffer[]): Promise<void> {
    const records = Buffer.concat(payloads.map((payload) => record(payload, this.#epoch)))
    await writeAt(this.#file, records, this.#offset)
    await this.#file.datasync()
    this.#offset += records.length
    this.open += payloads.length
  }

  /** Removes all records, durably. */
  async reset(): Promise<void> {
    this.#epoch += 1n
    await writeAt(this.#file, header(this.#epoch), 0)
    await this.#file.datasync()
    this.#offset = HEADER_BYTES
    this.open = 0
  }

  get empty(): boolean {
    return this.#offset === HEADER_BYTES
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

async function allocate(file: FileHandle, from: number): Promise<void> {
  for (let at = from; at < SEGMENT_BYTES; at += ZEROS.length)
    await writeAt(file, ZEROS.subarray(0, Math.min(ZEROS.length, SEGMENT_BYTES - at)), at)
  if (from === 0) await writeAt(file, header(1n), 0)
  await file.sync()
}

async function writeAt(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written)
    written += bytesWritten
  }
}

/** Whether a file, which may not exist, has records. */
async function isUsedSegment(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch(() => null)
  try {
    return file !== null && (await isUsed(file))
  } finally {
    await file?.close()
  }
}

async function isUsed(file: FileHandle): Promise<boolean> {
  return mayHoldRecords(await readBytes(file, HEADER_BYTES + RECORD_HEAD_BYTES))
}

async function readBytes(file: FileHandle, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length;) {
    const { bytesRead } = await file.read(bytes, at, length - at, at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return bytes
}

/** 64 MB in all (guarantees.md 5). */
const SEGMENTS = 8
const SLOTS_MAX = 1_024
/** Enough for a kept answer of a megabyte in base64 and its log row. */
const RECORD_BYTES_MAX = SEGMENT_BYTES / 4

/** The journal cannot be created at the path of the settings. */
export class JournalError extends OperatorError {
  override readonly name = 'JournalError'
}

/**
 * Opens a journal under `directory` for this process. Each process has a slot; the slot of a dead process goes to the
 * next process that starts, with all its records.
 */
export async function openJournal(directory: string): Promise<Journal> {
  try {
    return await JournalFiles.open(directory)
  } catch (thrown) {
    if (thrown instanceof JournalError) throw thrown
    const why = thrownMessage(thrown)
    throw new JournalError(
      `TOLLGATE_DATA: the journal for outages of the database needs ${(SEGMENTS * SEGMENT_BYTES) / 1_048_576} MB in ${directory}, and it cannot be made: ${why}`,
    )
  }
}

class JournalFiles implements Journal {
  readonly left: readonly JournalRecord[]
  readonly #segments: JournalSegment[]
  readonly #locks: readonly DirectoryLock[]
  /** Appends and resets run one after another. */
  #tail: Promise<unknown> = Promise.resolve()
  #current = 0

  private constructor(segments: JournalSegment[], left: readonly JournalRecord[], locks: readonly DirectoryLock[]) {
    this.#segments = segments
    this.left = left
    this.#locks = locks
  }

  static async open(directory: string): Promise<JournalFiles> {
    makeFolder(directory)
    const slots = new Slots(directory)
    for (let slot = 0; slots.locks.length === 0; slot += 1) {
      if (slot >= SLOTS_MAX) throw new JournalError(`More than ${SLOTS_MAX} processes use ${directory}.`)
      await slots.take(slot)
    }
    const others = (await readdir(directory)).filter((name) => /^\d{1,4}$/.test(name)).map(Number)
    // Slots of processes that have ended, and that no other process has taken.
    for (const slot of others) if (await slots.isUsed(slot)) await slots.take(slot)
    for (const segment of slots.segments) if (segment.open === 0 && !segment.empty) await segment.reset()
    return new JournalFiles(slots.segments, slots.left, slots.locks)
  }

  get open(): number {
    return this.#segments.reduce((sum, { open }) => sum + open, 0)
  }

  append(payloads: readonly Buffer[]): Promise<readonly JournalTicket[]> {
    return this.#inTurn(async () => {
      const tickets: JournalTicket[] = []
      for (let at = 0; at < payloads.length;) {
        const segment = await this.#roomFor(payloads[at]?.length ?? 0)
        const batch = fitting(segment, payloads, at)
        await segment.append(batch)
        at += batch.length
        for (const _payload of batch) tickets.push({ segment: this.#current })
      }
      return tickets
    })
  }

  settled({ segment: number }: JournalTicket): void {
    const segment = this.#segments[number]
    if (segment === undefined) return
    segment.open -= 1
    if (segment.open > 0) return
    // After a failed reset the next process settles the records again, which has no effect.
    void this.#inTurn(async () => {
      if (segment.open === 0 && !segment.empty) await segment.reset()
    }).catch(() => undefined)
  }

  async close(): Promise<void> {
    await this.#inTurn(() => Promise.resolve())
    for (const segment of this.#segments) await segment.close()
    for (const lock of this.#locks) lock.close()
  }

  async #roomFor(payloadBytes: number): Promise<JournalSegment> {
    if (payloadBytes > RECORD_BYTES_MAX)
      throw new JournalError(`A record of ${payloadBytes} bytes is too large for the journal.`)
    const current = this.#segments[this.#current]
    if (current?.fits(payloadBytes) === true) return current
    const free = this.#segments.findIndex(({ open }) => open === 0)
    const next = this.#segments[free]
    if (next === undefined) throw new JournalError('The journal is full.')
    if (!next.empty) await next.reset()
    this.#current = free
    return next
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(work)
    this.#tail = turn.catch(() => undefined)
    return turn
  }
}

/** Takes slots for one journal. */
class Slots {
  readonly segments: JournalSegment[] = []
  readonly left: JournalRecord[] = []
  readonly locks: DirectoryLock[] = []
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Does nothing if another process has the slot, or this one has it already. */
  async take(slot: number): Promise<void> {
    const path = join(this.#directory, String(slot))
    makeFolder(path)
    const lock = takeLock(path)
    if (lock === null) return
    this.locks.push(lock)
    for (const file of segmentPaths(path)) {
      const { segment, left } = await JournalSegment.open(file)
      for (const payload of left) this.left.push({ payload, ticket: { segment: this.segments.length } })
      this.segments.push(segment)
    }
  }

  /** Whether the slot has records, checked without a lock. */
  async isUsed(slot: number): Promise<boolean> {
    for (const file of segmentPaths(join(this.#directory, String(slot)))) if (await isUsedSegment(file)) return true
    return false
  }
}

function segmentPaths(slotPath: string): readonly string[] {
  return Array.from({ length: SEGMENTS }, (_value, number) => join(slotPath, `${number}.journal`))
}

/** As many payloads as fit into the segment, from index `at` on. */
function fitting(segment: JournalSegment, payloads: readonly Buffer[], at: number): readonly Buffer[] {
  let bytes = 0
  let end = at
  for (; end < payloads.length && segment.fits(payloads[end]?.length ?? 0, bytes); end += 1)
    bytes += recordBytes(payloads[end]?.length ?? 0)
  return payloads.slice(at, end)
}
