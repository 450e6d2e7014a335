import { type ApiError, unavailable } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import {
  StoreUnavailableError,
  type HoldRequest,
  type LedgerOperation,
  type LedgerOutcome,
  type LedgerStore,
} from './ledger-store.ts'
import { isHoldEnd, type EndJournal, type JournaledEnd, type HoldEnd, type JournalTicket } from './end-journal.ts'
import { LedgerBatch } from './ledger-core.ts'
import { thrownMessage } from '../base/text.ts'

const BATCH_MAX = 1_024
const QUEUE_MAX = 8_192
/** How long the end of an answer waits for its settle (guarantees.md 5), and the pause between tries. */
const OUTLAST_MS = 2_000
const OUTLAST_PAUSE_MS = 100
/**
 * A stuck database must give a 503 within a second (guarantees.md F2): the time that a hold waits, and that a write may
 * take before new work is refused.
 */
const HOLD_MS = 900

export interface BatchWriterPorts {
  readonly store: Pick<LedgerStore, 'commit' | 'isFailing'>
  readonly clock: Clock
  /**
   * Waits for everything that arrives in this turn of the event loop, so that it shares a commit; absent = writes at
   * once.
   */
  readonly gather?: (() => Promise<void>) | undefined
  /**
   * Least time between the starts of two batches, ms: under load many requests share a commit; a single one does not
   * wait.
   */
  readonly spacingMs: () => number
  /** Takes ends of holds that the store has not confirmed in time; null = they are refused. */
  readonly journal: EndJournal | null
  /** The balance below which an account is low unless it has a limit of its own; absent = no account counts as low. */
  readonly lowBalanceMicro?: (() => Micro) | undefined
  /** Writes one sentence for the operator as a log line. */
  readonly notice: (message: string) => void
  /** Called when the store fails, with its error, and when it works again (null). */
  readonly turned?: (cause: Error | null) => void
}

interface Queued {
  operation: LedgerOperation
  /** When to stop trying; set when the store is first found down. */
  giveUpAtMs: number | null
  /** Set while the journal holds the operation: the caller has its answer, and the store is still tried. */
  ticket: JournalTicket | null
  /** Whether it is being written to the journal. */
  journaling: boolean
  /** Whether it was part of a write: then the store may have it, whatever the result of that write. */
  sent: boolean
  /** Whether the store has it, or never will. */
  over: boolean
  /** Whether it is a hold whose caller has been refused. */
  abandoned: boolean
  readonly resolve: (outcome: LedgerOutcome) => void
  readonly reject: (error: Error) => void
}

/**
 * Group commit: all operations that arrive while a write is under way share the next one, and are decided in the order
 * of arrival. Only one write runs at a time.
 */
export class BatchWriter {
  readonly #ports: BatchWriterPorts
  readonly #ends: Patience<Queued>
  readonly #holds: Patience<Queued>
  #queue: Queued[] = []
  #writing: Promise<void> | null = null
  #down = false
  #closing = false
  #startedMs = Number.NEGATIVE_INFINITY
  /** clock.monotonic() at the start of the running write. */
  #writeStartedMs: number | null = null

  constructor(ports: BatchWriterPorts) {
    this.#ports = ports
    this.#ends = new Patience(ports.clock, OUTLAST_MS, (overdue) => void this.#journal(overdue))
    this.#holds = new Patience(ports.clock, HOLD_MS, (overdue) => this.#abandon(overdue))
  }

  /** Whether anything is queued or being written. */
  get busy(): boolean {
    return this.#writing !== null
  }

  /** Operations that wait for a write. */
  get waiting(): number {
    return this.#queue.length
  }

  /** Whether the last write found the store down. */
  get down(): boolean {
    return this.#down
  }

  /** Takes over the state of the store that another part has found: its error, or null if it works. */
  learn(cause: Error | null): void {
    if (this.#down === (cause !== null)) return
    this.#down = cause !== null
    this.#ports.turned?.(cause)
  }

  /**
   * Whether new work should be refused: too much waits, or the store is down and one write is testing whether it is
   * back.
   */
  get blocked(): boolean {
    return this.#queue.length >= QUEUE_MAX || (this.#down && this.#writing !== null) || this.#stuck
  }

  get #stuck(): boolean {
    return (
      this.#ports.journal !== null &&
      this.#writeStartedMs !== null &&
      this.#ports.clock.monotonic() - this.#writeStartedMs > HOLD_MS
    )
  }

  /** Rejects with `service_unavailable` when the operation could be written neither to the store nor to the journal. */
  submit(operation: LedgerOperation): Promise<LedgerOutcome> {
    return new Promise((resolve, reject) => {
      const queued: Queued = {
        operation,
        giveUpAtMs: null,
        ticket: null,
        journaling: false,
        sent: false,
        over: false,
        abandoned: false,
        resolve,
        reject,
      }
      if (this.#ports.journal !== null) this.#watch(queued)
      this.#enqueue(queued)
    })
  }

  /** Continues with an end that the journal holds. */
  resume({ operation, ticket }: JournaledEnd): void {
    this.#enqueue({
      operation,
      giveUpAtMs: null,
      ticket,
      journaling: false,
      sent: false,
      over: false,
      abandoned: false,
      resolve: () => undefined,
      reject: () => undefined,
    })
  }

  /** Resolves when nothing is queued any more. */
  async idle(): Promise<void> {
    while (this.#writing !== null) await this.#writing
  }

  /** Like `idle`, but does not wait for a store that is down: the next process continues what the journal holds. */
  async close(): Promise<void> {
    this.#closing = true
    await this.#journal(this.#ends.hurry())
    await this.idle()
    this.#abandon(this.#holds.hurry())
  }

  #enqueue(queued: Queued): void {
    this.#queue.push(queued)
    this.#writing ??= this.#drain()
  }

  #watch(queued: Queued): void {
    const { operation } = queued
    if (isHoldEnd(operation)) this.#ends.watch(queued)
    // A job is created with its hold, so neither can be given up without the other.
    else if (operation.op === 'hold' && operation.job === undefined) this.#holds.watch(queued)
  }

  async #drain(): Promise<void> {
    await this.#ports.gather?.()
    while (this.#queue.length > 0) {
      await this.#space()
      const batch = this.#queue.splice(0, BATCH_MAX).filter(({ abandoned }) => !abandoned)
      if (batch.length > 0) await this.#write(batch)
    }
    this.#writing = null
  }

  async #space(): Promise<void> {
    const { clock, spacingMs } = this.#ports
    const waitMs = this.#startedMs + spacingMs() - clock.monotonic()
    if (waitMs > 0) await this.#pause(waitMs)
    this.#startedMs = clock.monotonic()
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#ports.clock.after(ms, resolve)
    })
  }

  async #write(batch: readonly Queued[]): Promise<void> {
    let outcomes: readonly LedgerOutcome[] = []
    // After an outage even a hold tests whether the store can write again.
    const durable = this.#down || batch.some(({ operation }) => operation.op !== 'hold' || operation.job !== undefined)
    this.#writeStartedMs = this.#ports.clock.monotonic()
    for (const queued of batch) queued.sent = true
    try {
      await this.#ports.store.commit(
        batch.map(({ operation }) => operation),
        (rows) => {
          const ledger = new LedgerBatch(rows, this.#ports.lowBalanceMicro?.())
          outcomes = batch.map(({ operation }) => ledger.apply(operation))
          return ledger.changes()
        },
        durable,
      )
    } catch (thrown) {
      this.#writeStartedMs = null
      await this.#splitOrFail(batch, thrown)
      return
    }
    this.#writeStartedMs = null
    // A batch of holds may have stayed in memory, so it does not show whether the disk works.
    if (durable && this.#ports.store.isFailing !== true) this.learn(null)
    for (const [index, queued] of batch.entries()) {
      const outcome = outcomes[index]
      if (outcome !== undefined) this.#confirm(queued, outcome)
    }
  }

  #confirm(queued: Queued, outcome: LedgerOutcome): void {
    const { operation, ticket, abandoned } = queued
    this.#finish(queued)
    if (ticket !== null) this.#ports.journal?.settled(ticket)
    if (ticket !== null && outcome.status === 'not_open')
      this.#ports.notice(
        `Generation ${operation.generationId}: its ${operation.op} from the journal met a hold that is ${outcome.state}`,
      )
    // The caller of this hold was refused and will never end it.
    if (abandoned && outcome.status === 'held' && operation.op === 'hold')
      void this.submit(voidOf(operation, this.#ports.clock)).catch(() => undefined)
    queued.resolve(outcome)
  }

  #refuse(queued: Queued, cause: unknown): void {
    this.#finish(queued)
    queued.reject(storeUnavailable(cause))
  }

  #finish(queued: Queued): void {
    queued.over = true
    if (this.#ports.journal === null) return
    this.#ends.forget(queued)
    this.#holds.forget(queued)
  }

  /**
   * An end that has waited too long is answered once it is on this machine's disk; the store is tried until it has the
   * end.
   */
  async #journal(overdue: readonly Queued[]): Promise<void> {
    const { journal, clock } = this.#ports
    const ends = overdue.flatMap((queued) =>
      isHoldEnd(queued.operation) && !queued.over && !queued.journaling && queued.ticket === null
        ? [{ queued, operation: queued.operation }]
        : [],
    )
    if (journal === null || ends.length === 0) return
    for (const { queued } of ends) queued.journaling = true
    let tickets: readonly JournalTicket[] = []
    try {
      tickets = await journal.append(ends.map(({ operation }) => operation))
    } catch (thrown) {
      // They are refused as soon as the running write has failed.
      for (const { queued } of ends) queued.giveUpAtMs = clock.monotonic()
      this.#ports.notice(`The journal cannot be written: ${thrownMessage(thrown)}`)
    }
    for (const [index, { queued, operation }] of ends.entries()) {
      queued.journaling = false
      const ticket = tickets[index]
      if (ticket === undefined) continue
      if (queued.over) {
        journal.settled(ticket)
        continue
      }
      queued.ticket = ticket
      queued.operation = unguarded(operation)
      // The store may have charged it already, so the answer must say neither a cost nor that the request was free.
      if (queued.sent && isGuarded(operation)) queued.reject(storeUnavailable(null))
      else
        queued.resolve(
          operation.op === 'settle'
            ? { status: 'journaled', chargedMicro: operation.costMicro, shortfallMicro: 0n }
            : { status: 'journaled' },
        )
    }
  }

  /** Refuses holds that have waited too long. If the store places one of them after all, it is given back. */
  #abandon(overdue: readonly Queued[]): void {
    for (const queued of overdue) {
      queued.abandoned = true
      queued.reject(storeUnavailable(null))
    }
  }

  /** One faulty operation must not fail the others: the batch is halved until the faulty one is found. */
  async #splitOrFail(batch: readonly Queued[], thrown: unknown): Promise<void> {
    if (thrown instanceof StoreUnavailableError) {
      await this.#outlast(batch, thrown)
      return
    }
    if (batch.length > 1) {
      const middle = Math.ceil(batch.length / 2)
      await this.#write(batch.slice(0, middle))
      await this.#write(batch.slice(middle))
      return
    }
    for (const queued of batch) {
      if (queued.ticket !== null)
        this.#ports.notice(
          `Generation ${queued.operation.generationId}: its ${queued.operation.op} stays in the journal, the store refuses it: ${String(thrown)}`,
        )
      this.#refuse(queued, thrown)
    }
  }

  /**
   * The store does not answer. A hold is refused at once, since its request has cost nothing yet. A settle or void is
   * sent again until its time is over: the answer exists by then, and the id makes a repeat harmless.
   */
  async #outlast(batch: readonly Queued[], thrown: StoreUnavailableError): Promise<void> {
    this.learn(thrown)
    if (this.#closing) await this.#journal(batch)
    const waiting = batch.filter((queued) => this.#waits(queued))
    for (const queued of batch) {
      if (queued.ticket === null && !waiting.includes(queued)) this.#refuse(queued, thrown)
    }
    if (waiting.length === 0) return
    await this.#pause(OUTLAST_PAUSE_MS)
    this.#queue.unshift(...waiting)
  }

  #waits(queued: Queued): boolean {
    const { op } = queued.operation
    if (queued.ticket !== null) return !this.#closing
    if (op !== 'settle' && op !== 'void') return false
    const nowMs = this.#ports.clock.monotonic()
    queued.giveUpAtMs ??= nowMs + OUTLAST_MS
    // When its time is over, the journal takes it.
    return queued.journaling || this.#ends.watches(queued) || nowMs < queued.giveUpAtMs
  }
}

function isGuarded(operation: HoldEnd): boolean {
  return operation.op === 'void' && operation.guarded !== undefined
}

/** The operation without its guarded charge: the client's answer said that it was free, so it is not charged later. */
function unguarded(operation: HoldEnd): HoldEnd {
  if (operation.op !== 'void') return operation
  const { guarded: _guarded, ...free } = operation
  return free
}

/** Gives back the money of a hold without a request. There is no log row, since nothing was sent to a provider. */
function voidOf({ generationId }: HoldRequest, clock: Clock): LedgerOperation {
  return { op: 'void', generationId, insuredMicro: 0n, record: null, atMs: clock.now() }
}

export function storeUnavailable(cause: unknown, retryAfterSeconds = 1): ApiError {
  return unavailable(
    `Service is overloaded or its store is not available. Retry after ${retryAfterSeconds} seconds`,
    retryAfterSeconds,
    'store',
    cause,
  )
}

/** Reports operations that have waited too long. One timer serves all, since all may wait equally long. */
export class Patience<T> {
  readonly #clock: Clock
  readonly #limitMs: number
  readonly #overdue: (items: readonly T[]) => void
  /** In order of arrival. */
  readonly #dueMs = new Map<T, number>()
  #stop: (() => void) | null = null

  constructor(clock: Clock, limitMs: number, overdue: (items: readonly T[]) => void) {
    this.#clock = clock
    this.#limitMs = limitMs
    this.#overdue = overdue
  }

  watch(item: T): void {
    this.#dueMs.set(item, this.#clock.monotonic() + this.#limitMs)
    if (this.#stop === null) this.#time(this.#limitMs)
  }

  watches(item: T): boolean {
    return this.#dueMs.has(item)
  }

  /** The item has ended, or nobody waits for it any more. */
  forget(item: T): void {
    this.#dueMs.delete(item)
  }

  /** Ends the wait for all items, and returns them. */
  hurry(): readonly T[] {
    const items = [...this.#dueMs.keys()]
    this.#dueMs.clear()
    this.#stop?.()
    this.#stop = null
    return items
  }

  #time(afterMs: number): void {
    this.#stop = this.#clock.after(afterMs, () => {
      this.#stop = null
      const nowMs = this.#clock.monotonic()
      const items: T[] = []
      for (const [item, dueMs] of this.#dueMs) {
        if (dueMs > nowMs) {
          this.#time(dueMs - nowMs)
          break
        }
        items.push(item)
      }
      for (const item of items) this.#dueMs.delete(item)
      if (items.length > 0) this.#overdue(items)
    })
  }
}
