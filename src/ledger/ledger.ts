import type { Clock } from '../base/clock.ts'
import { ALLOWANCE_LOOK_MS } from './allowances.ts'
import { BatchWriter, storeUnavailable } from './batch-writer.ts'
import type { EndJournal } from './end-journal.ts'
import { LOST_FIELDS, type GenerationRecord } from './generation-record.ts'
import {
  type HoldOutcome,
  type HoldRequest,
  type HoldRow,
  type LedgerStore,
  type PeriodStarts,
  type SettleOutcome,
  type SettleRequest,
  type VoidOutcome,
  type VoidRequest,
  StoreUnavailableError,
} from './ledger-store.ts'
import { NodeHolds } from './node-holds.ts'
import type { Micro } from '../base/money.ts'
import { periodStarts } from './period.ts'

const LEASE_MS = 60_000
const RENEW_MS = 20_000
const SWEEP_MS = 15_000
const PERIODS_CACHE_MS = 1_000
/** The time between two tests whether a failed store can write again. */
const PROBE_MS = 1_000
const UNWRITABLE_RETRY_SECONDS = 5
/** How long a hold that was decided in memory may wait to be written with a settle; then it is written alone. */
const FLUSH_MS = 25
/** How long durable rows may wait before they are moved to their tables; under load they are moved sooner. */
const CHECKPOINT_MS = 1_000
/** The pause between two parts of a checkpoint, for other work. */
const SLICE_MS = 2
/** With this many running requests commits keep their full distance; with fewer a part of it, with one almost none. */
const FULL_SPACING_REQUESTS = 16

/** How much waits for the store, and whether it answers. */
export interface LedgerLoad {
  /** The number of holds and ends. */
  readonly waiting: number
  /** Running holds that the store gets only with their ends. */
  readonly drawn: number
  readonly down: boolean
  /** Ends that are in the journal but not in the store. */
  readonly journaled: number
}

export interface LedgerPorts {
  readonly store: LedgerStore
  readonly clock: Clock
  /** This process's name on its holds. */
  readonly node: string
  /** The service's time zone now, for the periods of spending limits. */
  readonly timezone: () => string
  /** The store has one process: holds that are open at the start belong to a dead process. */
  readonly singleProcess: boolean
  /**
   * Waits for everything that arrives in this turn of the event loop, so that it shares a commit; absent = writes at
   * once.
   */
  readonly gather?: () => Promise<void>
  /** Least time between the starts of two commits when many requests run, ms; absent = none. */
  readonly commitSpacingMs?: number
  /** The journal for outages of the store; absent = an answer whose settle is not confirmed in time is refused. */
  readonly journal?: EndJournal
  /** The number of live nodes, which decide holds against allowances; absent = the store decides each hold. */
  readonly nodes?: () => number
  /** The balance below which an account without its own threshold is low; absent = no account counts as low. */
  readonly lowBalanceMicro?: () => Micro
  /** Writes one sentence for the operator as a log line. */
  readonly notice?: (message: string) => void
}

/**
 * The money of running requests: hold → settle | void, in group commits.
 *
 * **What it is for.** Nobody is charged for what they did not get, nobody gets what cannot be paid, and nothing is
 * charged twice, whatever crashes in between. A hold sets the most aside that a request may cost before a provider is
 * asked; it ends exactly once, settled at its real cost or void.
 *
 * **How it works.** Operations wait in a `BatchWriter` and share a commit: `LedgerStore.commit` loads the rows that
 * they name, `ledger-core.ts` decides on them as a pure class, and the store writes what changed. There are two
 * writers where the store decides holds in memory (the embedded one): holds then wait for no disk. With several
 * nodes a node decides holds against allowances (`node-holds.ts`). While a database is away, ends
 * are written into a journal (`end-journal.ts`) and go to it later.
 *
 * **What it offers.** `hold`, `settle` and `void` for requests, the same for jobs, `giveBack` for allowances,
 * `periods`, `load`, and `unwritable`: why nothing may be sold now. `start` recovers the holds of a dead process, and
 * then leases are renewed and those that ended are swept.
 *
 * **What it never does.** It has no SQL and no socket: its ports are in `ledger-store.ts`. It computes no price: usage
 * and prices come as amounts. It sends nothing to anybody. A top-up or a refund is not its work: entries of the
 * operator are transactions of the store.
 *
 * **Rules beside it.** `hold-rules.ts` and `free-hour.ts` say who may hold what; `recheck.ts` recalculates charges and
 * shares nothing with what made them.
 */
export class Ledger {
  readonly #ports: LedgerPorts
  readonly #ends: BatchWriter
  readonly #holds: BatchWriter
  #flushing = false
  #checkpointing = false
  readonly #running = new Set<string>()
  readonly #own: NodeHolds
  #periods: { readonly atMs: number; readonly timezone: string; readonly starts: PeriodStarts } | null = null
  #stops: (() => void)[] = []
  #stopProbe: (() => void) | null = null
  #stopped = false

  constructor(ports: LedgerPorts) {
    this.#ports = ports
    const { store, clock, gather, commitSpacingMs = 0, journal = null, notice = (): void => undefined } = ports
    const { node, nodes, lowBalanceMicro } = ports
    this.#ends = new BatchWriter({
      store,
      clock,
      gather,
      // A few requests gain nothing by waiting for each other.
      spacingMs: () => commitSpacingMs * Math.min(1, this.#runningCount / FULL_SPACING_REQUESTS),
      journal,
      lowBalanceMicro,
      notice,
      turned: (cause) => this.#turned(cause),
    })
    this.#holds = store.decidesHoldsInMemory
      ? new BatchWriter({ store, clock, spacingMs: () => 0, journal: null, notice })
      : this.#ends
    this.#own = new NodeHolds({
      clock,
      node,
      nodes,
      place: (hold) => this.#place(hold),
      submit: (operation) => this.#ends.submit(operation),
      isUp: () => !this.#ends.down && !this.#ends.blocked,
    })
  }

  get load(): LedgerLoad {
    const own = this.#holds === this.#ends ? 0 : this.#holds.waiting
    return {
      waiting: this.#ends.waiting + own,
      drawn: this.#own.drawn,
      down: this.#ends.down,
      journaled: this.#ports.journal?.open ?? 0,
    }
  }

  get #runningCount(): number {
    return this.#running.size + this.#own.drawn
  }

  /**
   * Why nothing may be sold now: this is the only process of the store, which cannot write; null = it can. With several
   * nodes, others may reach a database that this node does not reach.
   */
  get unwritable(): string | null {
    return this.#ports.store.probe !== undefined && this.#ends.down ? 'The store cannot be written' : null
  }

  /**
   * Recovers the holds of a dead process and continues its journal, then renews leases and sweeps holds whose lease
   * ended. Returns the number of recovered holds.
   */
  async start(): Promise<number> {
    // This comes before any other request to the store, and does not wait for it.
    const left = this.#ports.journal?.left() ?? []
    for (const end of left) this.#ends.resume(end)
    if (left.length > 0)
      this.#ports.notice?.(
        `The journal holds the ends of ${left.length} requests that the database did not take: they go to it now`,
      )
    const { openingNotice = null } = this.#ports.store
    if (openingNotice !== null) this.#ports.notice?.(openingNotice)
    const recovered = this.#ports.singleProcess ? await this.#recover() : 0
    this.#repeat(RENEW_MS, () => this.renew())
    this.#repeat(SWEEP_MS, () => this.sweep())
    if (this.#ports.nodes !== undefined) this.#repeat(ALLOWANCE_LOOK_MS, () => this.tidy())
    return recovered
  }

  /** Stops the timers and waits until the store or the journal has the queued operations. */
  async stop(): Promise<void> {
    for (const stop of this.#stops) stop()
    this.#stops = []
    this.#stopped = true
    this.#stopProbe?.()
    const returned = this.#own.giveBack(null)
    await this.#holds.close()
    await returned
    await this.#ends.close()
  }

  /** Moves the worst case of a request from available to held; the lease is renewed until its settle or void. */
  async hold(
    request: Omit<HoldRequest, 'op' | 'atMs' | 'leaseUntilMs' | 'node' | 'periods'> & {
      /** Others will look in the store for this request's hold, so it must be there when this resolves. */
      readonly isShared?: boolean
    },
  ): Promise<HoldOutcome> {
    const { job, mayExceed, isShared = false } = request
    const atMs = this.#ports.clock.now()
    const operation: HoldRequest = {
      op: 'hold',
      generationId: request.generationId,
      accountId: request.accountId,
      keyId: request.keyId,
      amountMicro: request.amountMicro,
      priceVersion: request.priceVersion,
      subject: request.subject,
      periods: this.periods(atMs),
      atMs,
      // The hold of a job lives as long as the job, at most until the job's deadline.
      leaseUntilMs: (job?.deadlineMs ?? atMs) + LEASE_MS,
      node: this.#ports.node,
      ...(mayExceed === undefined ? {} : { mayExceed }),
      ...(job === undefined ? {} : { job }),
    }
    // The hold outlives this process, so it must be durable when this resolves.
    if (job !== undefined) return this.#placeDurably(operation)
    if (this.#own.draw(operation, isShared)) return { status: 'held' }
    const outcome = await this.#own.place(operation, isShared)
    if (outcome.status === 'held') this.#running.add(request.generationId)
    return outcome
  }

  /** Gives back what this node has set aside for an account's next requests. */
  giveBack(accountId: string): Promise<void> {
    return this.#own.giveBack(accountId)
  }

  /** Durable when it resolves, in the store or in the journal. */
  async settle(request: Omit<SettleRequest, 'op' | 'atMs'>): Promise<SettleOutcome> {
    this.#running.delete(request.generationId)
    const { generationId, costMicro, providerCostMicro, insuredMicro, blamelessMicro, record, job, claim, kept } =
      request
    const atMs = this.#ports.clock.now()
    const operation: SettleRequest = {
      op: 'settle',
      generationId,
      costMicro,
      providerCostMicro,
      insuredMicro,
      ...(blamelessMicro === undefined ? {} : { blamelessMicro }),
      record,
      atMs,
      day: this.periods(atMs).day,
      ...(job === undefined ? {} : { job }),
      ...(claim === undefined ? {} : { claim }),
      ...(kept === undefined ? {} : { kept }),
    }
    // The core answers each operation with an outcome of its own type.
    return (await this.#own.end(operation)) as SettleOutcome
  }

  /** Gives a hold back durably; a guarded void may charge a part of it. */
  async void(request: Omit<VoidRequest, 'op' | 'atMs'>): Promise<VoidOutcome> {
    this.#running.delete(request.generationId)
    const { generationId, insuredMicro, blamelessMicro, record, job, guarded } = request
    const atMs = this.#ports.clock.now()
    const operation: VoidRequest = {
      op: 'void',
      generationId,
      insuredMicro,
      ...(blamelessMicro === undefined ? {} : { blamelessMicro }),
      record,
      atMs,
      day: this.periods(atMs).day,
      ...(job === undefined ? {} : { job }),
      ...(guarded === undefined ? {} : { guarded }),
    }
    // The core answers each operation with an outcome of its own type.
    return (await this.#own.end(operation)) as VoidOutcome
  }

  /** The current periods of spending limits, cached for one second. */
  periods(atMs: number): PeriodStarts {
    const timezone = this.#ports.timezone()
    const known = this.#periods
    // No boundary lies within a second, since boundaries are whole seconds.
    if (
      known !== null &&
      known.timezone === timezone &&
      Math.floor(known.atMs / PERIODS_CACHE_MS) === Math.floor(atMs / PERIODS_CACHE_MS)
    )
      return known.starts
    const starts = periodStarts(atMs, timezone)
    this.#periods = { atMs, timezone, starts }
    return starts
  }

  async #place(operation: HoldRequest): Promise<HoldOutcome> {
    this.#refuseUnwritable()
    if (this.#holds.blocked || this.#ends.blocked) throw storeUnavailable(null)
    const writer = this.#ends.down ? this.#ends : this.#holds
    // The core answers each operation with an outcome of its own type.
    const outcome = (await writer.submit(operation)) as HoldOutcome
    if (writer === this.#ends) return outcome
    if (outcome.status === 'held') this.#flushSoon()
    // The hold is refused only after the operations that arrived before it, since a queued settle may free money.
    const short = outcome.status === 'insufficient_balance' || outcome.status === 'limit_exceeded'
    return short && this.#ends.busy ? ((await this.#ends.submit(operation)) as HoldOutcome) : outcome
  }

  async #placeDurably(operation: HoldRequest): Promise<HoldOutcome> {
    this.#refuseUnwritable()
    if (this.#ends.blocked) throw storeUnavailable(null)
    // The core answers each operation with an outcome of its own type.
    return (await this.#ends.submit(operation)) as HoldOutcome
  }

  /** Refuses new work while the store cannot write: nothing may be bought from a provider that could not be charged. */
  #refuseUnwritable(): void {
    if (this.unwritable !== null) throw storeUnavailable(null, UNWRITABLE_RETRY_SECONDS)
  }

  #flushSoon(): void {
    if (this.#flushing) return
    this.#flushing = true
    this.#ports.clock.after(FLUSH_MS, () => {
      void this.#written(this.#ports.store.flush()).then(() => (this.#flushing = false))
    })
    this.#checkpointSoon()
  }

  #checkpointSoon(delayMs = CHECKPOINT_MS): void {
    const { store, clock } = this.#ports
    if (this.#checkpointing || store.checkpoint === undefined) return
    this.#checkpointing = true
    clock.after(delayMs, () => void this.#written(this.#checkpoint()))
  }

  async #checkpoint(): Promise<void> {
    let isMore: boolean | undefined = false
    try {
      isMore = await this.#ports.store.checkpoint?.()
    } finally {
      this.#checkpointing = false
    }
    if (isMore === true) this.#checkpointSoon(SLICE_MS)
  }

  /** The next settle tries again to write what cannot be written now; until then nothing is sold. */
  async #written(write: Promise<void> | undefined): Promise<void> {
    try {
      await write
    } catch (thrown) {
      if (thrown instanceof StoreUnavailableError) this.#ends.learn(thrown)
    }
  }

  #turned(cause: Error | null): void {
    this.#ports.notice?.(
      cause === null
        ? 'The store takes charges again'
        : `${cause.message} Paid requests are refused until it takes a write again`,
    )
    if (cause !== null && this.#ports.store.probe !== undefined) this.#probe(this.#ports.store)
  }

  #probe(store: LedgerStore): void {
    if (this.#stopProbe !== null) return
    this.#stopProbe = this.#ports.clock.after(PROBE_MS, () => {
      this.#stopProbe = null
      if (!this.#ends.down || this.#stopped) return
      const again = (): void => this.#probe(store)
      void Promise.resolve(store.probe?.()).then(() => this.#ends.learn(null), again)
    })
  }

  async #recover(): Promise<number> {
    const holds = await this.#ports.store.openHolds(null)
    await Promise.all(
      holds.map((hold) => this.void({ generationId: hold.id, insuredMicro: 0n, record: recordOfLost(hold) })),
    )
    return holds.length
  }

  /** Extends the leases of the holds that run here; called every 20 s. */
  async renew(): Promise<void> {
    const ids = [...this.#running, ...this.#own.ids]
    if (ids.length > 0) await this.#ports.store.renewLeases(ids, this.#ports.clock.now() + LEASE_MS)
  }

  /** Gives back what is set aside and nobody needs; done every 2.5 s. */
  tidy(): Promise<void> {
    return this.#own.tidy()
  }

  /** Gives back the money of holds whose leases no process renews any more; called every 15 s. */
  async sweep(): Promise<void> {
    const atMs = this.#ports.clock.now()
    const holds = await this.#ports.store.openHolds(atMs)
    // A clock that jumped ahead must not expire a hold of a request that runs here: its lease is only renewed late.
    const lost = holds.filter(({ id }) => !this.#running.has(id) && !this.#own.owns(id))
    await Promise.all(lost.map(({ id }) => this.#ends.submit({ op: 'expire', generationId: id, atMs })))
  }

  #repeat(everyMs: number, task: () => Promise<void>): void {
    let stopped = false
    let stop = (): void => undefined
    const next = (): void => {
      if (!stopped) stop = this.#ports.clock.after(everyMs, run)
    }
    const run = (): void => {
      // If the store is down now, the task runs again at the next beat.
      void task().then(next, next)
    }
    next()
    this.#stops.push(() => {
      stopped = true
      stop()
    })
  }
}

/** The log row of a request whose process died before it could record more. */
function recordOfLost(hold: HoldRow): GenerationRecord {
  return {
    ...LOST_FIELDS,
    generationId: hold.id,
    accountId: hold.accountId,
    keyId: hold.keyId,
    requestId: hold.subject.requestId,
    type: hold.subject.type,
    model: hold.subject.model,
    priceVersion: hold.priceVersion,
    streamed: hold.subject.streamed,
    createdAtMs: hold.placedAtMs,
  }
}
