import { assert } from '../base/assert.ts'
import { Allowances, type AllowancePorts } from './allowances.ts'
import type {
  AllowanceOutcome,
  AllowanceRequest,
  HoldOutcome,
  HoldRequest,
  LedgerOperation,
  LedgerOutcome,
  SettleOutcome,
  SettleRequest,
  VoidOutcome,
  VoidRequest,
} from './ledger-store.ts'

export interface NodeHoldsPorts extends AllowancePorts {
  /** Asks whoever decides holds else. */
  readonly place: (hold: HoldRequest) => Promise<HoldOutcome>
  readonly submit: (operation: LedgerOperation) => Promise<LedgerOutcome>
  /** The store would take the end of a hold. */
  readonly isUp: () => boolean
}

/**
 * Places holds and ends them. With several nodes this one decides most of them against its allowances: what the store
 * then hears of a hold comes with its end. Nobody else knows that there are any.
 */
export class NodeHolds {
  readonly #ports: NodeHoldsPorts
  readonly #allowances: Allowances

  constructor(ports: NodeHoldsPorts) {
    this.#ports = ports
    this.#allowances = new Allowances(ports)
  }

  /** Running holds that the store will hear of with their ends. */
  get drawn(): number {
    return this.#allowances.draws
  }

  /** Holds in the store that this node answers for, beside those that it was asked for. */
  get ids(): readonly string[] {
    return this.#allowances.ids
  }

  owns(id: string): boolean {
    return this.#allowances.owns(id)
  }

  /** Whether the hold was decided here. `isShared`: others look for it in the store. */
  draw(hold: HoldRequest, isShared: boolean): boolean {
    return isDecidable(hold, isShared) && this.#ports.isUp() && this.#allowances.draw(hold)
  }

  /** Asks the store. What this node has set aside of the account is taken back before a hold is refused. */
  place(hold: HoldRequest, isShared: boolean): Promise<HoldOutcome> {
    return this.#ports.nodes === undefined ? this.#ports.place(hold) : this.#placeBeside(hold, isShared)
  }

  async #placeBeside(hold: HoldRequest, isShared: boolean): Promise<HoldOutcome> {
    const placing = this.#ports.place(hold)
    // The request for an allowance follows the hold in the queue, and so shares its commit.
    const wish = isDecidable(hold, isShared) ? this.#allowances.wish(hold) : null
    const wished = wish === null ? null : this.#ask(wish)
    const outcome = await placing
    if (outcome.status !== 'insufficient_balance' && outcome.status !== 'limit_exceeded') return outcome
    await wished
    const recalled = this.#allowances.recall(hold.accountId)
    if (recalled.length === 0) return outcome
    const asked = recalled.map((request) => this.#ask(request))
    const [again] = await Promise.all([this.#ports.place(hold), ...asked])
    return again
  }

  /** Sends the end of a hold, together with the hold if only memory has it. */
  async end(operation: SettleRequest | VoidRequest): Promise<SettleOutcome | VoidOutcome> {
    const open = this.#allowances.take(operation.generationId)
    // The core answers each operation with an outcome of its own type.
    if (open === null) return (await this.#ports.submit(operation)) as SettleOutcome | VoidOutcome
    assert(!endIsShared(operation), `Others look for the hold of ${operation.generationId}, and it is in memory.`)
    const askedMs = this.#ports.clock.monotonic()
    // In the journal, or refused: the store has said nothing of the allowance.
    let said: SettleOutcome | VoidOutcome | null = null
    try {
      const draw = this.#allowances.carried(open)
      said = (await this.#ports.submit({ ...operation, draw })) as SettleOutcome | VoidOutcome
      const { allowance: _allowance, ...outcome } = said
      return outcome
    } finally {
      const chargedMicro = said !== null && 'chargedMicro' in said ? said.chargedMicro : 0n
      this.#allowances.ended(open, askedMs, { left: said?.allowance, chargedMicro })
    }
  }

  /** Gives back what is set aside for the next requests of an account; null = of all. */
  giveBack(accountId: string | null): Promise<void> {
    return this.#askAll(this.#allowances.recall(accountId))
  }

  /** Gives back what nobody needs; done every `ALLOWANCE_LOOK_MS`. */
  tidy(): Promise<void> {
    return this.#askAll(this.#allowances.idle())
  }

  async #askAll(requests: readonly AllowanceRequest[]): Promise<void> {
    await Promise.all(requests.map((request) => this.#ask(request)))
  }

  async #ask(request: AllowanceRequest): Promise<void> {
    const askedMs = this.#ports.clock.monotonic()
    // The core answers each operation with an outcome of its own type.
    const outcome = await this.#ports.submit(request).then(
      (answer) => answer as AllowanceOutcome,
      () => null,
    )
    this.#allowances.answered(request, outcome, askedMs)
  }
}

/** One that others look for is in the store, and so is one whose end may charge more. */
function isDecidable({ mayExceed }: HoldRequest, isShared: boolean): boolean {
  return !isShared && mayExceed === undefined
}

/** Whether an end carries an Idempotency-Key or a kept answer, which others find by the hold. */
function endIsShared(operation: SettleRequest | VoidRequest): boolean {
  if (operation.op === 'void') return operation.guarded?.claim !== undefined
  return operation.claim !== undefined || operation.kept !== undefined
}
