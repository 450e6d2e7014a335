import type { HoldOutcome, HoldState, LimitReset, SettleOutcome, VoidOutcome } from '../../src/ledger/ledger-store.ts'
import { periodStarts } from '../../src/ledger/period.ts'

const LEASE_MS = 60_000
const PERIODS = { daily: 'day', weekly: 'week', monthly: 'month' } as const

interface ModelLimit {
  limit: bigint | null
  reset: LimitReset | null
}

interface ModelKey extends ModelLimit {
  disabled: boolean
  deleted: boolean
  /** Charges by the start of each period, `total` for all time. */
  spent: Record<string, bigint>
}

interface ModelHold {
  /** Index of the customer and of the node that placed it. */
  readonly customer: number
  readonly amount: bigint
  readonly placedMs: number
  readonly priceVersion: number
  leaseMs: number
  state: HoldState
  /** An expired hold that was voided later. */
  closed: boolean
  charged: bigint
  shortfall: bigint
}

export type Payment = {
  readonly customer: number
  readonly kind: 'topup' | 'refund' | 'adjustment'
  readonly amount: bigint
  readonly reference: string
}

/** One operation of the ledger in the model's terms, by index of the customer and id of the generation. */
export type Operation =
  | { readonly op: 'hold'; readonly id: string; readonly customer: number; readonly amount: bigint }
  | { readonly op: 'settle'; readonly id: string; readonly units: number }
  | { readonly op: 'void'; readonly id: string; readonly insured: bigint }
  | { readonly op: 'expire'; readonly id: string }
  | { readonly op: 'pay'; readonly payment: Payment }
  | {
      readonly op: 'limit'
      /** The limit is the account's. */
      readonly ofAccount?: true
      readonly customer: number
      readonly limit: bigint | null
      readonly reset: LimitReset | null
    }

type Answer =
  | HoldOutcome
  | SettleOutcome
  | VoidOutcome
  | { readonly status: 'created' | 'existing' | 'conflict' | 'uncovered' | 'refused_by_store' | 'done' }

/** The ledger in its simplest form: one account and one key for each customer, whole sums, no batches and no rows. */
export class LedgerModel {
  nowMs: number
  /** Price of a unit in each version, by index. */
  prices: bigint[] = [1n]
  readonly available: bigint[]
  readonly keys: ModelKey[]
  /** Of accounts. Each has one key, so that its spending is the key's. */
  readonly accounts: ModelLimit[]
  readonly holds = new Map<string, ModelHold>()
  readonly payments = new Map<string, Payment>()
  /** Ids of all requested holds, granted or not. */
  readonly ids: string[] = []

  constructor(
    nowMs: number,
    customers: readonly {
      readonly balance: bigint
      readonly limit: bigint | null
      readonly reset: LimitReset | null
    }[],
  ) {
    this.nowMs = nowMs
    this.available = customers.map(({ balance }) => balance)
    this.accounts = customers.map(() => ({ limit: null, reset: null }))
    this.keys = customers.map(({ limit, reset }) => ({ limit, reset, disabled: false, deleted: false, spent: {} }))
  }

  clone(): LedgerModel {
    const copy = new LedgerModel(this.nowMs, [])
    copy.prices = [...this.prices]
    copy.available.push(...this.available)
    for (const account of this.accounts) copy.accounts.push({ ...account })
    for (const key of this.keys) copy.keys.push({ ...key, spent: { ...key.spent } })
    for (const [id, hold] of this.holds) copy.holds.set(id, { ...hold })
    for (const [reference, payment] of this.payments) copy.payments.set(reference, payment)
    copy.ids.push(...this.ids)
    return copy
  }

  get priceVersion(): number {
    return this.prices.length - 1
  }

  held(customer: number): bigint {
    let sum = 0n
    for (const hold of this.holds.values()) if (hold.customer === customer && hold.state === 'open') sum += hold.amount
    return sum
  }

  apply(operation: Operation): Answer {
    switch (operation.op) {
      case 'hold':
        return this.#hold(operation)
      case 'settle':
        return this.#settle(operation)
      case 'void':
        return this.#void(operation.id)
      case 'expire':
        return this.#expire(operation.id)
      case 'pay':
        return this.#pay(operation.payment)
      case 'limit': {
        const { limit, reset, ofAccount = false, customer } = operation
        const key = this.#key(customer)
        if (ofAccount) this.accounts[customer] = { limit, reset }
        else if (!key.deleted) Object.assign(key, { limit, reset })
        return { status: 'done' }
      }
    }
  }

  cost(id: string, units: number): bigint {
    return BigInt(units) * (this.prices[this.holds.get(id)?.priceVersion ?? 0] ?? 0n)
  }

  spentIn(customer: number, atMs: number, reset: LimitReset | null): bigint {
    return this.#key(customer).spent[periodName(atMs, reset)] ?? 0n
  }

  #key(customer: number): ModelKey {
    const key = this.keys[customer]
    if (key === undefined) throw new RangeError(`There is no customer ${customer}.`)
    return key
  }

  /** Of the key, then of the account. */
  #limits(customer: number): readonly (ModelLimit & { readonly ofAccount?: true })[] {
    const { limit, reset } = this.#key(customer)
    const account = this.accounts[customer]
    return [{ limit, reset }, ...(account === undefined ? [] : [{ ...account, ofAccount: true as const }])]
  }

  #hold({ id, customer, amount }: Extract<Operation, { op: 'hold' }>): Answer {
    const known = this.holds.get(id)
    if (known !== undefined) return known.state === 'open' ? { status: 'held' } : { status: 'refused_by_store' }
    if (!this.ids.includes(id)) this.ids.push(id)
    const key = this.#key(customer)
    if (key.deleted) return { status: 'refused', reason: 'invalid_api_key' }
    if (key.disabled) return { status: 'refused', reason: 'key_deactivated' }
    const heldMicro = this.held(customer)
    for (const { limit, reset, ...whose } of this.#limits(customer)) {
      if (limit === null) continue
      const spentMicro = this.spentIn(customer, this.nowMs, reset)
      if (spentMicro + heldMicro + amount > limit)
        return { status: 'limit_exceeded', limitMicro: limit, limitReset: reset, spentMicro, heldMicro, ...whose }
    }
    const available = this.available[customer] ?? 0n
    if (amount > available) return { status: 'insufficient_balance', availableMicro: available }
    this.available[customer] = available - amount
    this.holds.set(id, {
      customer,
      amount,
      placedMs: this.nowMs,
      priceVersion: this.priceVersion,
      leaseMs: this.nowMs + LEASE_MS,
      state: 'open',
      closed: false,
      charged: 0n,
      shortfall: 0n,
    })
    return { status: 'held' }
  }

  #settle({ id, units }: Extract<Operation, { op: 'settle' }>): Answer {
    const hold = this.holds.get(id)
    if (hold === undefined) return { status: 'not_open', state: 'missing' }
    if (hold.state === 'voided' || hold.closed) return { status: 'not_open', state: 'voided' }
    if (hold.state === 'settled' || hold.state === 'settled_late')
      return { status: 'replayed', chargedMicro: hold.charged, shortfallMicro: hold.shortfall }
    const { customer } = hold
    const key = this.#key(customer)
    const late = hold.state === 'expired'
    const covered = late ? 0n : hold.amount
    // Without this hold, which is given back first.
    hold.state = late ? 'settled_late' : 'settled'
    const available = (this.available[customer] ?? 0n) + covered
    const cost = this.cost(id, units)
    let most = available
    for (const { limit, reset } of this.#limits(customer)) {
      if (limit === null) continue
      const room = limit - this.spentIn(customer, hold.placedMs, reset) - this.held(customer)
      if (room < most) most = room
    }
    if (most < covered) most = covered
    hold.charged = cost < most ? cost : most
    hold.shortfall = cost - hold.charged
    this.available[customer] = available - hold.charged
    for (const reset of [null, 'daily', 'weekly', 'monthly'] as const) {
      const name = periodName(hold.placedMs, reset)
      key.spent[name] = (key.spent[name] ?? 0n) + hold.charged
    }
    return { status: hold.state, chargedMicro: hold.charged, shortfallMicro: hold.shortfall }
  }

  #void(id: string): Answer {
    const hold = this.holds.get(id)
    if (hold === undefined) return { status: 'not_open', state: 'missing' }
    if (hold.state === 'voided' || hold.closed) return { status: 'replayed' }
    if (hold.state === 'settled' || hold.state === 'settled_late') return { status: 'not_open', state: 'settled' }
    if (hold.state === 'open') this.#giveBack(hold, 'voided')
    else hold.closed = true
    return { status: 'voided' }
  }

  #expire(id: string): Answer {
    const hold = this.holds.get(id)
    if (hold !== undefined && hold.state === 'open' && hold.leaseMs < this.nowMs) this.#giveBack(hold, 'expired')
    return { status: 'done' }
  }

  #giveBack(hold: ModelHold, state: HoldState): void {
    hold.state = state
    this.available[hold.customer] = (this.available[hold.customer] ?? 0n) + hold.amount
  }

  #pay(payment: Payment): Answer {
    const name = `${payment.kind} ${payment.reference}`
    const known = this.payments.get(name)
    if (known !== undefined)
      return {
        status: known.customer === payment.customer && known.amount === payment.amount ? 'existing' : 'conflict',
      }
    const change = payment.kind === 'refund' ? -payment.amount : payment.amount
    const available = (this.available[payment.customer] ?? 0n) + change
    if (available < 0n) return { status: 'uncovered' }
    this.available[payment.customer] = available
    this.payments.set(name, payment)
    return { status: 'created' }
  }
}

function periodName(atMs: number, reset: LimitReset | null): string {
  if (reset === null) return 'total'
  const period = PERIODS[reset]
  return `${period} ${periodStarts(atMs, 'UTC')[period]}`
}
