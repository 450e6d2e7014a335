import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import {
  ALLOWANCE_PREFIX,
  type AfterDraw,
  type AllowanceOutcome,
  type AllowanceRequest,
  type Draw,
  type HoldRequest,
  type HoldRow,
} from './ledger-store.ts'

/** The changes that a batch makes to the sizes of allowances. */
export class AllowanceChanges {
  /** The sizes before the batch. */
  readonly #before = new Map<HoldRow, Micro>()

  /** Must be called before the size changes. */
  touch(allowance: HoldRow): void {
    if (!this.#before.has(allowance)) this.#before.set(allowance, allowance.amountMicro)
  }

  /** 0 gives the allowance back; the row then keeps its last size. */
  resize(allowance: HoldRow, amountMicro: Micro, atMs: number): void {
    this.touch(allowance)
    if (amountMicro > 0n) allowance.amountMicro = amountMicro
    else {
      allowance.state = 'voided'
      allowance.endedAtMs = atMs
    }
  }

  /** The rows to write, besides new ones. A busy node usually leaves the size of its allowance unchanged. */
  changed(created: ReadonlySet<HoldRow>): readonly HoldRow[] {
    const changed: HoldRow[] = []
    for (const [row, beforeMicro] of this.#before)
      if (!created.has(row) && (row.amountMicro !== beforeMicro || row.state !== 'open')) changed.push(row)
    return changed
  }
}

/**
 * How long the size that the database reported is trusted. Each end of a draw asks again, so a busy key is confirmed
 * all the time, and a node that stood still asks before it sells.
 */
export const FRESH_MS = 2_500
/** The size of an allowance is what was spent in this time; it is given back if nothing was drawn for as long. */
const WINDOW_MS = 5_000
/** The time between two searches for idle allowances. */
export const ALLOWANCE_LOOK_MS = 2_500
/** The least size, in holds: a smaller allowance saves too few commits. */
const HOLDS_LEAST = 4n
const LEASE_MS = 60_000

export interface AllowancePorts {
  readonly clock: Clock
  /** This process, whose name its allowances carry. */
  readonly node: string
  /** Live nodes, this one included; absent = there is one process, and it asks for no allowance. */
  readonly nodes?: (() => number) | undefined
}

interface Allowance {
  readonly id: string
  readonly accountId: string
  /** The hold for which it was first made. */
  readonly first: HoldRequest
  /** The size that the database last reported. */
  amountMicro: Micro
  /** The sum and the number of the running holds that are drawn from it. */
  drawnMicro: Micro
  draws: number
  /** clock.monotonic() before the question to which the database's last report is the answer. */
  confirmedMs: number
  drawnAtMs: number
  /** Whether a request for its size is under way. */
  asking: boolean
  /** Whether nothing more may be drawn from it; it is given back with its last draw. */
  over: boolean
}

/** The recent requests of a key. */
interface Demand {
  allowance: Allowance | null
  askedAtMs: number
  /** When the database last had too little money for an allowance. */
  deniedAtMs: number
  /** The money charged since `sinceMs`, and in the window before. */
  sinceMs: number
  spentMicro: Micro
  beforeMicro: Micro
  /** The most that was drawn at once in these windows. */
  peakMicro: Micro
}

/** A draw and its allowance, until the draw ends. */
export interface OpenDraw {
  readonly hold: HoldRequest
  readonly allowance: Allowance
}

/**
 * The allowances of this node: money of a key that the database has set aside for the node, so that a hold is decided
 * in memory and written together with its end (docs/decisions). This class decides; the ledger asks the store.
 *
 * One rule always holds: the allowance in the database covers everything that is drawn from it here. The database takes
 * from it only the amounts of ends, and this node never asks for less than it has drawn.
 */
export class Allowances {
  readonly #ports: AllowancePorts
  readonly #demands = new Map<string, Demand>()
  readonly #open = new Map<string, Allowance>()
  readonly #draws = new Map<string, OpenDraw>()
  #made = 0

  constructor(ports: AllowancePorts) {
    this.#ports = ports
  }

  get #nodes(): number {
    return this.#ports.nodes?.() ?? 1
  }

  /** Ids of the allowances, as holds of the database, whose leases this node renews. */
  get ids(): readonly string[] {
    return [...this.#open.keys()]
  }

  owns(id: string): boolean {
    return this.#open.has(id)
  }

  /** The number of running holds that are draws. */
  get draws(): number {
    return this.#draws.size
  }

  /** Whether the hold was decided here; if not, the database is asked. */
  draw(hold: HoldRequest): boolean {
    const allowance = this.#demands.get(hold.keyId)?.allowance ?? null
    if (allowance === null || allowance.over || hold.amountMicro === 0n) return false
    if (this.#draws.has(hold.generationId)) return true
    const nowMs = this.#ports.clock.monotonic()
    if (nowMs - allowance.confirmedMs > FRESH_MS || !samePeriods(allowance.first, hold)) return false
    if (allowance.accountId !== hold.accountId) return false
    if (allowance.drawnMicro + hold.amountMicro > allowance.amountMicro) return false
    allowance.drawnMicro += hold.amountMicro
    allowance.draws += 1
    allowance.drawnAtMs = nowMs
    const demand = this.#demand(hold.keyId, nowMs)
    if (allowance.drawnMicro > demand.peakMicro) demand.peakMicro = allowance.drawnMicro
    this.#draws.set(hold.generationId, { hold, allowance })
    return true
  }

  /** The allowance for which the database should be asked together with this hold, which it decides; null = none. */
  wish(hold: HoldRequest): AllowanceRequest | null {
    if (hold.amountMicro === 0n || this.#ports.nodes === undefined) return null
    const nowMs = this.#ports.clock.monotonic()
    const isFirst = !this.#demands.has(hold.keyId)
    const demand = this.#demand(hold.keyId, nowMs)
    const askedBefore = nowMs - demand.askedAtMs
    demand.askedAtMs = nowMs
    const { allowance } = demand
    if (allowance !== null && !allowance.over && !samePeriods(allowance.first, hold)) this.#end(allowance)
    const current = demand.allowance
    const drawnMicro = (current?.drawnMicro ?? 0n) + hold.amountMicro
    if (drawnMicro > demand.peakMicro) demand.peakMicro = drawnMicro
    // An allowance gains nothing for a single request.
    if (isFirst || askedBefore > WINDOW_MS || nowMs - demand.deniedAtMs < WINDOW_MS) return null
    if (current !== null) return current.asking ? null : this.#size(current, this.#wanted(demand, hold))
    this.#made += 1
    const made: Allowance = {
      id: `${ALLOWANCE_PREFIX}${this.#ports.node}-${hold.atMs}-${this.#made}`,
      accountId: hold.accountId,
      first: hold,
      amountMicro: 0n,
      drawnMicro: 0n,
      draws: 0,
      confirmedMs: Number.NEGATIVE_INFINITY,
      drawnAtMs: nowMs,
      asking: false,
      over: false,
    }
    demand.allowance = made
    this.#open.set(made.id, made)
    return this.#size(made, this.#wanted(demand, hold))
  }

  /** The draw that the end of a generation must carry; each is taken once. */
  take(generationId: string): OpenDraw | null {
    const draw = this.#draws.get(generationId)
    if (draw === undefined) return null
    this.#draws.delete(generationId)
    return draw
  }

  /** The draw in the form in which an end carries it. */
  carried({ hold, allowance }: OpenDraw): Draw {
    return { allowance: allowance.id, hold, nodes: allowance.over ? null : this.#nodes }
  }

  /**
   * A draw has ended, or its end is in the journal. `left` is its allowance as the database reports it: null = nothing
   * more may be drawn; undefined = the database has not answered, so its state is unknown.
   */
  ended(
    { hold, allowance }: OpenDraw,
    askedMs: number,
    { left, chargedMicro }: { readonly left: AfterDraw['allowance']; readonly chargedMicro: Micro },
  ): void {
    allowance.drawnMicro -= hold.amountMicro
    allowance.draws -= 1
    assert(allowance.drawnMicro >= 0n && allowance.draws >= 0, 'No draw ends twice.')
    this.#demand(hold.keyId, this.#ports.clock.monotonic()).spentMicro += chargedMicro
    if (left === undefined || left === null || left.state !== 'open') this.#end(allowance)
    else this.#confirm(allowance, left.amountMicro, askedMs)
  }

  /** Takes the database's answer to a request that was sent at `askedMs`; null = the database did not answer. */
  answered({ generationId, keyId }: AllowanceRequest, outcome: AllowanceOutcome | null, askedMs: number): void {
    const allowance = this.#open.get(generationId)
    if (allowance === undefined) return
    allowance.asking = false
    if (outcome === null) return this.#end(allowance)
    const left = outcome.allowance?.state === 'open' ? outcome.allowance : null
    this.#confirm(allowance, left?.amountMicro ?? 0n, askedMs)
    if (outcome.status === 'closed' || left === null) this.#end(allowance)
    if (left !== null || allowance.draws > 0) return
    this.#open.delete(generationId)
    const demand = this.#demands.get(keyId)
    if (demand !== undefined && outcome.status === 'allowed') demand.deniedAtMs = this.#ports.clock.monotonic()
  }

  /** The allowances to give back now: those that have been idle for a while, or may not be drawn from. */
  idle(): readonly AllowanceRequest[] {
    const nowMs = this.#ports.clock.monotonic()
    for (const [keyId, { askedAtMs, allowance }] of this.#demands)
      if (allowance === null && nowMs - askedAtMs > WINDOW_MS) this.#demands.delete(keyId)
    return this.#givenBack((allowance) => allowance.over || nowMs - allowance.drawnAtMs > WINDOW_MS)
  }

  /** All money not drawn: of one account, whose money is short, or of all accounts at the end of the process. */
  recall(accountId: string | null): readonly AllowanceRequest[] {
    return this.#givenBack((allowance) => accountId === null || allowance.accountId === accountId)
  }

  #givenBack(chosen: (allowance: Allowance) => boolean): readonly AllowanceRequest[] {
    const requests: AllowanceRequest[] = []
    for (const allowance of this.#open.values()) {
      if (!chosen(allowance) || allowance.asking) continue
      this.#end(allowance)
      if (allowance.amountMicro > allowance.drawnMicro || allowance.draws === 0)
        requests.push(this.#size(allowance, 0n))
    }
    return requests
  }

  #size(allowance: Allowance, wantedMicro: Micro): AllowanceRequest {
    const { first, id, drawnMicro } = allowance
    const { clock, node } = this.#ports
    const atMs = clock.now()
    allowance.asking = true
    return {
      op: 'allowance',
      generationId: id,
      accountId: first.accountId,
      keyId: first.keyId,
      wantedMicro,
      leastMicro: HOLDS_LEAST * first.amountMicro,
      keepMicro: drawnMicro,
      nodes: this.#nodes,
      priceVersion: first.priceVersion,
      subject: { ...first.subject, model: '', requestId: '' },
      periods: first.periods,
      atMs,
      leaseUntilMs: atMs + LEASE_MS,
      node,
    }
  }

  #confirm(allowance: Allowance, amountMicro: Micro, askedMs: number): void {
    allowance.amountMicro = amountMicro
    if (askedMs > allowance.confirmedMs) allowance.confirmedMs = askedMs
  }

  /** Allows no more draws from it. */
  #end(allowance: Allowance): void {
    allowance.over = true
    const demand = this.#demands.get(allowance.first.keyId)
    if (demand?.allowance === allowance) demand.allowance = null
  }

  #wanted(demand: Demand, { amountMicro }: HoldRequest): Micro {
    const spentMicro = demand.spentMicro + demand.beforeMicro
    return [spentMicro, HOLDS_LEAST * amountMicro, 2n * demand.peakMicro].reduce((most, each) =>
      each > most ? each : most,
    )
  }

  #demand(keyId: string, nowMs: number): Demand {
    const known = this.#demands.get(keyId)
    if (known === undefined) {
      const made: Demand = {
        allowance: null,
        askedAtMs: nowMs,
        deniedAtMs: Number.NEGATIVE_INFINITY,
        sinceMs: nowMs,
        spentMicro: 0n,
        beforeMicro: 0n,
        peakMicro: 0n,
      }
      this.#demands.set(keyId, made)
      return made
    }
    if (nowMs - known.sinceMs > WINDOW_MS) {
      known.beforeMicro = nowMs - known.sinceMs > 2 * WINDOW_MS ? 0n : known.spentMicro
      known.spentMicro = 0n
      known.peakMicro = known.allowance?.drawnMicro ?? 0n
      known.sinceMs = nowMs
    }
    return known
  }
}

/**
 * Whether two holds belong to the same periods. A key's limit counts the charges of a period, so an allowance of one
 * period may not be drawn in the next.
 */
function samePeriods({ periods: one }: HoldRequest, { periods: other }: HoldRequest): boolean {
  return one.day === other.day && one.week === other.week && one.month === other.month
}
