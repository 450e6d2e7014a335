import { ApiError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { StoreUnavailableError } from '../store/store-unavailable-error.ts'
import type { GenerationRecord } from './generation-record.ts'
import { LedgerBatch } from './ledger-core.ts'
import type {
  HoldOutcome, HoldRequest, HoldRow, LedgerOperation, LedgerOutcome, LedgerStore, PeriodStarts, SettleOutcome, SettleRequest, VoidOutcome, VoidRequest,
} from './ledger-store.ts'
import { periodStarts } from './period.ts'

const BATCH_MAX = 1_024
const QUEUE_MAX = 8_192
const LEASE_MS = 60_000
const RENEW_MS = 20_000
const SWEEP_MS = 15_000
const PERIODS_CACHE_MS = 1_000
/** How long the end of an answer waits for its settle (reliability.md 5), and how often it is tried meanwhile. */
const OUTLAST_MS = 2_000
const OUTLAST_PAUSE_MS = 100

export interface LedgerPorts {
  readonly store: LedgerStore
  readonly clock: Clock
  /** This process, written on its holds. */
  readonly node: string
  /** The service's time zone now, for the periods of spending limits. */
  readonly timezone: () => string
  /** The store has one process: what is open at the start belongs to a dead one. */
  readonly singleProcess: boolean
  /** Waits until what arrives in this turn of the event loop has arrived, so that it shares a commit; absent = writes at once. */
  readonly gather?: () => Promise<void>
}

interface Queued {
  readonly operation: LedgerOperation
  /** Set when the store was first found down. */
  giveUpAtMs: number | null
  readonly resolve: (outcome: LedgerOutcome) => void
  readonly reject: (error: Error) => void
}

/**
 * The money of running requests: hold → settle | void, in group commits. All operations that arrive while a write is
 * under way share the next one, decided in arrival order.
 */
export class Ledger {
  readonly #ports: LedgerPorts
  #queue: Queued[] = []
  #writing: Promise<void> | null = null
  #down = false
  readonly #running = new Set<string>()
  #periods: { readonly atMs: number; readonly timezone: string; readonly starts: PeriodStarts } | null = null
  #stops: (() => void)[] = []

  constructor(ports: LedgerPorts) {
    this.#ports = ports
  }

  /** Recovers the holds of a dead process, then keeps leases alive and sweeps the ended ones. Answers how many were recovered. */
  async start(): Promise<number> {
    const recovered = this.#ports.singleProcess ? await this.#recover() : 0
    this.#repeat(RENEW_MS, () => this.renew())
    this.#repeat(SWEEP_MS, () => this.sweep())
    return recovered
  }

  /** Stops the timers and waits for what is queued. */
  async stop(): Promise<void> {
    for (const stop of this.#stops) stop()
    this.#stops = []
    while (this.#writing !== null) await this.#writing
  }

  /** Takes the worst case of a request out of what is available; the lease is renewed until its settle or void. */
  async hold(request: Omit<HoldRequest, 'op' | 'atMs' | 'leaseUntilMs' | 'node' | 'periods'>): Promise<HoldOutcome> {
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
      leaseUntilMs: atMs + LEASE_MS,
      node: this.#ports.node,
    }
    // The core answers each operation with the outcome of its own kind.
    const outcome = (await this.#submit(operation)) as HoldOutcome
    if (outcome.status === 'held') this.#running.add(request.generationId)
    return outcome
  }

  /** Durable when it resolves. */
  async settle(request: Omit<SettleRequest, 'op' | 'atMs'>): Promise<SettleOutcome> {
    this.#running.delete(request.generationId)
    const { generationId, costMicro, providerCostMicro, record } = request
    // The core answers each operation with the outcome of its own kind.
    return (await this.#submit({ op: 'settle', generationId, costMicro, providerCostMicro, record, atMs: this.#ports.clock.now() })) as SettleOutcome
  }

  /** Gives a hold back, durably. */
  async void(request: Omit<VoidRequest, 'op' | 'atMs'>): Promise<VoidOutcome> {
    this.#running.delete(request.generationId)
    const { generationId, insuredMicro, record } = request
    // The core answers each operation with the outcome of its own kind.
    return (await this.#submit({ op: 'void', generationId, insuredMicro, record, atMs: this.#ports.clock.now() })) as VoidOutcome
  }

  /** The periods of spending limits now; kept for a second, since a boundary is met by its first request of the next second at the latest. */
  periods(atMs: number): PeriodStarts {
    const timezone = this.#ports.timezone()
    const known = this.#periods
    // A second of the clock never spans a boundary: boundaries are whole seconds.
    if (known !== null && known.timezone === timezone && Math.floor(known.atMs / PERIODS_CACHE_MS) === Math.floor(atMs / PERIODS_CACHE_MS)) return known.starts
    const starts = periodStarts(atMs, timezone)
    this.#periods = { atMs, timezone, starts }
    return starts
  }

  #submit(operation: LedgerOperation): Promise<LedgerOutcome> {
    // A settle or void is never refused: its hold is open and must end.
    // While the store is down one write at a time finds out whether it is back; holds do not wait behind it.
    const full = this.#queue.length >= QUEUE_MAX || (this.#down && this.#writing !== null)
    if (operation.op === 'hold' && full) return Promise.reject(storeUnavailable(null))
    return new Promise((resolve, reject) => {
      this.#queue.push({ operation, giveUpAtMs: null, resolve, reject })
      this.#writing ??= this.#drain()
    })
  }

  async #drain(): Promise<void> {
    await this.#ports.gather?.()
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH_MAX)
      await this.#write(batch)
    }
    this.#writing = null
  }

  async #write(batch: readonly Queued[]): Promise<void> {
    let outcomes: readonly LedgerOutcome[] = []
    try {
      const durable = batch.some(({ operation }) => operation.op !== 'hold')
      await this.#ports.store.commit(
        batch.map(({ operation }) => operation),
        (rows) => {
          const ledger = new LedgerBatch(rows)
          outcomes = batch.map(({ operation }) => ledger.apply(operation))
          return ledger.changes()
        },
        durable,
      )
    } catch (thrown) {
      await this.#splitOrFail(batch, thrown)
      return
    }
    this.#down = false
    for (const [index, queued] of batch.entries()) {
      const outcome = outcomes[index]
      if (outcome !== undefined) queued.resolve(outcome)
    }
  }

  /** One poisoned operation must not fail its neighbours: halves are tried until it stands alone. */
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
    for (const queued of batch) queued.reject(storeUnavailable(thrown))
  }

  /**
   * The store does not answer. A hold is refused at once, its request has cost nothing yet; a settle or void is sent
   * again until its time is over, since by then the answer exists and its id makes the repeat harmless.
   */
  async #outlast(batch: readonly Queued[], thrown: StoreUnavailableError): Promise<void> {
    this.#down = true
    const nowMs = this.#ports.clock.monotonic()
    const waiting: Queued[] = []
    for (const queued of batch) {
      if (queued.operation.op === 'settle' || queued.operation.op === 'void') queued.giveUpAtMs ??= nowMs + OUTLAST_MS
      if (queued.giveUpAtMs !== null && nowMs < queued.giveUpAtMs) waiting.push(queued)
      else queued.reject(storeUnavailable(thrown))
    }
    if (waiting.length === 0) return
    await new Promise<void>((resolve) => {
      this.#ports.clock.after(OUTLAST_PAUSE_MS, resolve)
    })
    this.#queue.unshift(...waiting)
  }

  async #recover(): Promise<number> {
    const holds = await this.#ports.store.openHolds(null)
    await Promise.all(holds.map((hold) => this.void({ generationId: hold.id, insuredMicro: 0n, record: recordOfLost(hold) })))
    return holds.length
  }

  /** Moves the leases of the holds that run here; done every 20 s. */
  async renew(): Promise<void> {
    if (this.#running.size > 0) await this.#ports.store.renewLeases([...this.#running], this.#ports.clock.now() + LEASE_MS)
  }

  /** Gives back the money of holds whose process renews them no more; done every 15 s. */
  async sweep(): Promise<void> {
    const atMs = this.#ports.clock.now()
    const holds = await this.#ports.store.openHolds(atMs)
    // A clock that jumped ahead must not expire what still runs here: its lease is only late to be renewed.
    const lost = holds.filter(({ id }) => !this.#running.has(id))
    await Promise.all(lost.map(({ id }) => this.#submit({ op: 'expire', generationId: id, atMs })))
  }

  #repeat(everyMs: number, task: () => Promise<void>): void {
    let stopped = false
    let stop = (): void => undefined
    const next = (): void => {
      if (!stopped) stop = this.#ports.clock.after(everyMs, run)
    }
    const run = (): void => {
      // A store that is down now is asked again at the next beat.
      void task().then(next, next)
    }
    next()
    this.#stops.push(() => {
      stopped = true
      stop()
    })
  }
}

function storeUnavailable(cause: unknown): ApiError {
  return new ApiError('service_unavailable', 'Service is overloaded or its store is not available. Retry after 1 seconds', { retryAfterSeconds: 1, cause })
}

/** The log row of a request whose process died before it could tell more. */
function recordOfLost(hold: HoldRow): GenerationRecord {
  return {
    generationId: hold.id,
    accountId: hold.accountId,
    keyId: hold.keyId,
    requestId: hold.subject.requestId,
    type: hold.subject.type,
    model: hold.subject.model,
    providerSlug: null,
    providerName: null,
    endpointId: null,
    upstreamId: null,
    status: 'error',
    errorType: 'service_unavailable',
    finishReason: 'error',
    nativeFinishReason: null,
    usage: {},
    inputTokens: 0,
    outputTokens: 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    billingBasis: 'free',
    flagged: false,
    priceVersion: hold.priceVersion,
    streamed: hold.subject.streamed,
    attempts: 0,
    latencyMs: null,
    durationMs: 0,
    createdAtMs: hold.placedAtMs,
    appUrl: null,
    appTitle: null,
    sessionId: null,
  }
}
