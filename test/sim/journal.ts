import { header, HEADER_BYTES, readRecords, record } from '../../src/store/sqlite/row-journal.ts'
import type { Journal, JournalRecord, JournalTicket } from '../../src/ledger/end-journal.ts'
import type { Random } from './random.ts'
import type { Owner, Scheduler } from './scheduler.ts'

const WRITE_MS = [0.2, 8] as const
const DISK_FAULT = 0.04

/** One file of a journal on a machine's disk: bytes that outlive their process. */
export class JournalSlot {
  /** The process that owns it. */
  holder = ''
  /** All processes that have written into it. */
  readonly writers = new Set<string>()
  /** Its machine is gone for good. */
  lost = false
  bytes: Buffer = header(1n)
  epoch = 1n
  open = 0
}

interface JournalPorts {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly node: Owner
  /** Bytes that are being written outlive their process. */
  readonly world: Owner
}

/** The product's journal on the universe's disk: every record becomes bytes, from which a later process reads it. */
export class SimJournal implements Journal {
  readonly left: readonly JournalRecord[]
  readonly #slots: readonly JournalSlot[]
  readonly #ports: JournalPorts

  constructor(slots: readonly JournalSlot[], ports: JournalPorts) {
    this.#slots = slots
    this.#ports = ports
    this.left = slots.flatMap((slot, segment) => {
      const { payloads, epoch, end } = readRecords(slot.bytes)
      slot.epoch = epoch
      // A torn record is overwritten.
      slot.bytes = slot.bytes.subarray(0, Math.max(end, HEADER_BYTES))
      slot.open = payloads.length
      slot.holder = ports.node.name
      slot.writers.add(ports.node.name)
      return payloads.map((payload): JournalRecord => ({ payload, ticket: { segment } }))
    })
  }

  get open(): number {
    return this.#slots.reduce((sum, { open }) => sum + open, 0)
  }

  append(payloads: readonly Buffer[]): Promise<readonly JournalTicket[]> {
    const { scheduler, random, node, world } = this.#ports
    const [slot] = this.#slots
    if (slot === undefined) throw new Error('A journal has a slot at least.')
    const fails = random.chance(DISK_FAULT)
    return new Promise((resolve, reject) => {
      scheduler.after(random.between(...WRITE_MS), world, () => {
        if (slot.holder !== node.name) return
        if (fails) return reject(new Error('The disk of the journal refuses.'))
        const records = Buffer.concat(payloads.map((payload) => record(payload, slot.epoch)))
        // A process that dies during a write leaves a part, or all of it without an acknowledgement.
        slot.bytes = Buffer.concat([
          slot.bytes,
          node.dead ? records.subarray(0, random.below(records.length + 1)) : records,
        ])
        if (node.dead) return
        slot.open += payloads.length
        resolve(payloads.map(() => ({ segment: 0 })))
      })
    })
  }

  settled({ segment }: JournalTicket): void {
    const slot = this.#slots[segment]
    if (slot === undefined) return
    slot.open -= 1
    if (slot.open > 0) return
    slot.epoch += 1n
    slot.bytes = header(slot.epoch)
  }

  async close(): Promise<void> {}
}
