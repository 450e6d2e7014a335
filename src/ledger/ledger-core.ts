import { assert } from '../lib/assert.ts'
import type { Micro } from '../money.ts'
import { entryHash } from '../store/ledger/hash-chain.ts'
import type { JobMove, NewJob } from '../store/jobs/job.ts'
import { countInFreeHour, isFreeHourUsedUp } from './free-hour.ts'
import type { GenerationRecord } from './generation-record.ts'
import {
  spendKeyText,
  type AccountRow,
  type EntryRow,
  type ExpireOutcome,
  type ExpireRequest,
  type GuardedCharge,
  type HoldOutcome,
  type HoldRequest,
  type HoldRow,
  type KeyRow,
  type LedgerChanges,
  type LedgerOperation,
  type LedgerOutcome,
  type LedgerRows,
  type LimitReset,
  type LogRow,
  type PeriodStarts,
  type SettledClaim,
  type SettleOutcome,
  type SettleRequest,
  type SpendChange,
  type SpendKey,
  type SpendPeriod,
  type VoidOutcome,
  type VoidRequest,
} from './ledger-store.ts'

type Charged = Extract<SettleOutcome, { status: 'settled' | 'settled_late' | 'replayed' }>

const RESET_PERIODS: Readonly<Record<LimitReset, SpendPeriod>> = { daily: 'day', weekly: 'week', monthly: 'month' }

/** The period that a key's limit counts in; null without a limit. */
export function limitPeriod(
  key: Pick<KeyRow, 'id' | 'limitMicro' | 'limitReset'>,
  periods: PeriodStarts,
): SpendKey | null {
  if (key.limitMicro === null) return null
  const period = key.limitReset === null ? 'total' : RESET_PERIODS[key.limitReset]
  return { keyId: key.id, period, start: period === 'total' ? '' : periods[period] }
}

/**
 * The ledger's rules as a pure class: hold → settle | void | expire → late settle over loaded rows, operations in
 * arrival order. It changes the working copies and tells which of them to write.
 */
export class LedgerBatch {
  readonly #rows: LedgerRows
  readonly #accounts = new Set<AccountRow>()
  readonly #keys = new Set<KeyRow>()
  readonly #newHolds = new Set<HoldRow>()
  readonly #endedHolds = new Set<HoldRow>()
  readonly #spends = new Map<string, SpendChange>()
  readonly #entries: EntryRow[] = []
  readonly #log: LogRow[] = []
  readonly #newJobs: NewJob[] = []
  readonly #movedJobs: JobMove[] = []
  readonly #endedClaims: LedgerChanges['endedClaims'][number][] = []
  readonly #keptAnswers: LedgerChanges['keptAnswers'][number][] = []

  constructor(rows: LedgerRows) {
    this.#rows = rows
  }

  changes(): LedgerChanges {
    for (const account of this.#accounts)
      assert(account.availableMicro >= 0n && account.heldMicro >= 0n, `Account ${account.id} would go below zero.`)
    for (const key of this.#keys) assert(key.heldMicro >= 0n, `Key ${key.id} would hold less than nothing.`)
    return {
      accounts: this.#accounts,
      keys: this.#keys,
      newHolds: this.#newHolds,
      endedHolds: this.#endedHolds,
      spends: [...this.#spends.values()],
      entries: this.#entries,
      log: this.#log,
      newJobs: this.#newJobs,
      movedJobs: this.#movedJobs,
      endedClaims: this.#endedClaims,
      keptAnswers: this.#keptAnswers,
    }
  }

  apply(operation: LedgerOperation): LedgerOutcome {
    switch (operation.op) {
      case 'hold':
        return this.#hold(operation)
      case 'settle':
        return this.#settle(operation)
      case 'void':
        return this.#void(operation)
      case 'expire':
        return this.#expire(operation)
    }
  }

  #hold(request: HoldRequest): HoldOutcome {
    // The schema checks this too, but the hold may be written with a later batch, which it must not spoil.
    assert(request.amountMicro >= 0n, `Hold ${request.generationId} would hold less than nothing.`)
    const known = this.#rows.holds.get(request.generationId)
    if (known !== undefined) {
      // A hold with a lost answer may be repeated while it is open; an ended one must never pay for a second answer.
      assert(
        known.state === 'open' && known.accountId === request.accountId,
        `Hold ${known.id} is placed again after it was ${known.state}.`,
      )
      return { status: 'held' }
    }
    const account = this.#rows.accounts.get(request.accountId)
    const key = this.#rows.keys.get(request.keyId)
    const reason = refusal(account, key, request.atMs)
    if (reason !== null || account === undefined || key === undefined)
      return { status: 'refused', reason: reason ?? 'invalid_api_key' }
    if (request.mayExceed === true && isFreeHourUsedUp(account, request.atMs))
      return { status: 'refused', reason: 'free_hour_used_up' }
    const period = limitPeriod(key, request.periods)
    if (period !== null && key.limitMicro !== null) {
      const spentMicro = this.#spent(period)
      if (spentMicro + key.heldMicro + request.amountMicro > key.limitMicro) {
        return {
          status: 'limit_exceeded',
          limitMicro: key.limitMicro,
          limitReset: key.limitReset,
          spentMicro,
          heldMicro: key.heldMicro,
        }
      }
    }
    if (account.availableMicro < request.amountMicro)
      return { status: 'insufficient_balance', availableMicro: account.availableMicro }
    this.#move(account, key, -request.amountMicro, request.amountMicro)
    const hold = newHold(request)
    this.#rows.holds.set(hold.id, hold)
    this.#newHolds.add(hold)
    if (request.job !== undefined) this.#newJobs.push(request.job)
    return { status: 'held' }
  }

  #settle(request: SettleRequest): SettleOutcome {
    const hold = this.#rows.holds.get(request.generationId)
    if (hold === undefined) return { status: 'not_open', state: 'missing' }
    if (hold.state === 'voided' || closedAfterExpiry(hold)) return { status: 'not_open', state: 'voided' }
    if (hold.state === 'settled' || hold.state === 'settled_late') {
      return { status: 'replayed', chargedMicro: hold.chargedMicro ?? 0n, shortfallMicro: hold.shortfallMicro ?? 0n }
    }
    if (request.claim !== undefined && this.#rows.claims.get(request.claim.id) !== hold.id)
      return { status: 'not_open', state: 'claim_lost' }
    if (!this.#moveJob(request.job)) return { status: 'not_open', state: 'job_moved' }
    return this.#charge(hold, request)
  }

  #charge(
    hold: HoldRow,
    request: Pick<
      SettleRequest,
      'costMicro' | 'providerCostMicro' | 'insuredMicro' | 'record' | 'claim' | 'kept' | 'atMs' | 'day'
    >,
  ): Charged {
    const { account, key } = this.#owners(hold)
    // An expired hold has returned its money: a late settle takes what account and key have now.
    const late = hold.state === 'expired'
    const coveredMicro = late ? 0n : hold.amountMicro
    if (!late) this.#move(account, key, hold.amountMicro, -hold.amountMicro)
    const chargedMicro = this.#chargeable(request.costMicro, coveredMicro, account, key, hold)
    const shortfallMicro = request.costMicro - chargedMicro
    assert(chargedMicro >= 0n && shortfallMicro >= 0n, 'A charge lies between nothing and the cost.')
    account.availableMicro -= chargedMicro
    this.#accounts.add(account)
    this.#end(hold, late ? 'settled_late' : 'settled', request.atMs, chargedMicro, shortfallMicro)
    hold.bookedDay = bookedDay(hold, account, request.day)
    if (request.claim !== undefined) this.#endClaim(request.claim, chargedMicro)
    const answer = request.kept?.answer(chargedMicro) ?? null
    if (answer !== null) this.#keptAnswers.push({ id: hold.id, answer })
    this.#spend(hold, chargedMicro, coveredMicro)
    this.#post(account, {
      kind: 'charge',
      debit: `account:${account.id}`,
      credit: 'revenue',
      amountMicro: chargedMicro,
      reference: hold.id,
      atMs: request.atMs,
    })
    if (shortfallMicro > 0n)
      this.#post(account, {
        kind: 'shortfall',
        debit: 'shortfall',
        credit: 'revenue',
        amountMicro: shortfallMicro,
        reference: hold.id,
        atMs: request.atMs,
      })
    countInFreeHour(account, request.atMs, { lostMicro: shortfallMicro, spentMicro: chargedMicro })
    this.#insure(account, hold, request)
    this.#addLog(
      account,
      hold,
      request.record,
      {
        costMicro: chargedMicro,
        providerCostMicro: request.providerCostMicro,
        shortfallMicro,
        insuredMicro: request.insuredMicro,
      },
      request.atMs,
    )
    return { status: late ? 'settled_late' : 'settled', chargedMicro, shortfallMicro }
  }

  #void(request: VoidRequest): VoidOutcome {
    const hold = this.#rows.holds.get(request.generationId)
    if (hold === undefined) return { status: 'not_open', state: 'missing' }
    if (hold.state === 'voided' || closedAfterExpiry(hold)) return { status: 'replayed' }
    if (hold.state === 'settled' || hold.state === 'settled_late') return voidOfCharged(hold, request)
    if (!this.#moveJob(request.job)) return { status: 'not_open', state: 'job_moved' }
    const { account, key } = this.#owners(hold)
    const { guarded } = request
    if (guarded !== undefined && this.#isCharged(account, hold, guarded, request.atMs)) {
      const { chargedMicro, shortfallMicro } = this.#charge(hold, {
        ...guarded,
        insuredMicro: request.insuredMicro - guarded.providerCostMicro,
        atMs: request.atMs,
        ...(request.day === undefined ? {} : { day: request.day }),
      })
      return { status: 'charged', chargedMicro, shortfallMicro }
    }
    if (hold.state === 'open') {
      this.#move(account, key, hold.amountMicro, -hold.amountMicro)
      this.#end(hold, 'voided', request.atMs, null, null)
    } else {
      // The money is back already and `expired` is the final state: a charge of 0 marks that no settle may follow.
      hold.chargedMicro = 0n
      this.#endedHolds.add(hold)
    }
    this.#insure(account, hold, request)
    if (request.record !== null) {
      hold.bookedDay = bookedDay(hold, account, request.day)
      this.#addLog(
        account,
        hold,
        request.record,
        { costMicro: 0n, providerCostMicro: 0n, shortfallMicro: 0n, insuredMicro: request.insuredMicro },
        request.atMs,
      )
    }
    return { status: 'voided' }
  }

  /** Expired holds, and those whose key another request has now, stay free. */
  #isCharged(account: AccountRow, hold: HoldRow, { claim }: GuardedCharge, atMs: number): boolean {
    return (
      hold.state === 'open' &&
      isFreeHourUsedUp(account, atMs) &&
      (claim === undefined || this.#rows.claims.get(claim.id) === hold.id)
    )
  }

  /** Records what the operator paid without charging anybody. */
  #insure(
    account: AccountRow,
    hold: HoldRow,
    { insuredMicro, atMs }: Pick<SettleRequest, 'insuredMicro' | 'atMs'>,
  ): void {
    countInFreeHour(account, atMs, { lostMicro: insuredMicro })
    if (insuredMicro > 0n)
      this.#post(account, {
        kind: 'insured',
        debit: 'insured',
        credit: 'world',
        amountMicro: insuredMicro,
        reference: hold.id,
        atMs,
      })
  }

  #expire(request: ExpireRequest): ExpireOutcome {
    const hold = this.#rows.holds.get(request.generationId)
    // It was found without a lock, so it may have ended or been renewed since.
    if (hold === undefined || hold.state !== 'open' || hold.leaseUntilMs >= request.atMs) return { status: 'kept' }
    const { account, key } = this.#owners(hold)
    this.#move(account, key, hold.amountMicro, -hold.amountMicro)
    this.#end(hold, 'expired', request.atMs, null, null)
    return { status: 'expired' }
  }

  /** Compare and set: false when another process was faster, so that job and money stay consistent. */
  #moveJob(move: JobMove | undefined): boolean {
    if (move === undefined) return true
    if (this.#rows.jobs.get(move.id) !== move.version) return false
    this.#rows.jobs.set(move.id, move.version + 1)
    this.#movedJobs.push(move)
    return true
  }

  #endClaim({ id, answer }: SettledClaim, chargedMicro: Micro): void {
    this.#rows.claims.delete(id)
    this.#endedClaims.push({ id, answer: answer(chargedMicro) })
  }

  /**
   * The chargeable cost: all that the hold covers and, beyond it, what account and key still have (guarantees.md rule
   * 11).
   */
  #chargeable(costMicro: Micro, coveredMicro: Micro, account: AccountRow, key: KeyRow, hold: HoldRow): Micro {
    if (costMicro <= coveredMicro) return costMicro
    const beyondMicro = account.availableMicro - coveredMicro
    const period = limitPeriod(key, hold.periods)
    const roomMicro =
      period === null || key.limitMicro === null
        ? beyondMicro
        : key.limitMicro - this.#spent(period) - key.heldMicro - coveredMicro
    const extraMicro = least(costMicro - coveredMicro, beyondMicro, roomMicro)
    return coveredMicro + (extraMicro > 0n ? extraMicro : 0n)
  }

  #owners(hold: HoldRow): { readonly account: AccountRow; readonly key: KeyRow } {
    const account = this.#rows.accounts.get(hold.accountId)
    const key = this.#rows.keys.get(hold.keyId)
    assert(account !== undefined && key !== undefined, `The owners of hold ${hold.id} are loaded with it.`)
    return { account, key }
  }

  #move(account: AccountRow, key: KeyRow, availableMicro: Micro, heldMicro: Micro): void {
    account.availableMicro += availableMicro
    account.heldMicro += heldMicro
    key.heldMicro += heldMicro
    this.#accounts.add(account)
    this.#keys.add(key)
  }

  #end(
    hold: HoldRow,
    state: HoldRow['state'],
    atMs: number,
    chargedMicro: Micro | null,
    shortfallMicro: Micro | null,
  ): void {
    assert(
      hold.state === 'open' || (hold.state === 'expired' && state === 'settled_late'),
      `Hold ${hold.id} cannot go from ${hold.state} to ${state}.`,
    )
    hold.state = state
    hold.endedAtMs = atMs
    hold.chargedMicro = chargedMicro
    hold.shortfallMicro = shortfallMicro
    // A hold of this same batch is written once, in its final state.
    if (!this.#newHolds.has(hold)) this.#endedHolds.add(hold)
  }

  #spent(period: SpendKey): Micro {
    return this.#rows.spends.get(spendKeyText(period)) ?? 0n
  }

  /** Counts a charge in the periods its hold was placed in (wire.md D-9.1). */
  #spend(hold: HoldRow, chargedMicro: Micro, coveredMicro: Micro): void {
    const excessMicro = chargedMicro > coveredMicro ? chargedMicro - coveredMicro : 0n
    const { day, week, month } = hold.periods
    const starts: readonly (readonly [SpendPeriod, string])[] = [
      ['total', ''],
      ['day', day],
      ['week', week],
      ['month', month],
    ]
    for (const [period, start] of starts) {
      const key = { keyId: hold.keyId, period, start }
      const name = spendKeyText(key)
      const spentMicro = this.#rows.spends.get(name)
      if (spentMicro !== undefined) this.#rows.spends.set(name, spentMicro + chargedMicro)
      const change = this.#spends.get(name)
      this.#spends.set(name, {
        ...key,
        spentMicro: chargedMicro + (change?.spentMicro ?? 0n),
        excessMicro: excessMicro + (change?.excessMicro ?? 0n),
      })
    }
  }

  /** Appends an entry to its account's chain. */
  #post(account: AccountRow, made: Omit<EntryRow, 'accountId' | 'hash'>): void {
    account.entryHead = entryHash(account.entryHead, { ...made, accountId: account.id, reason: null, actor: null })
    this.#accounts.add(account)
    this.#entries.push({ ...made, accountId: account.id, hash: account.entryHead })
  }

  #addLog(
    account: AccountRow,
    hold: HoldRow,
    record: GenerationRecord,
    money: Pick<LogRow, 'costMicro' | 'providerCostMicro' | 'shortfallMicro' | 'insuredMicro'>,
    atMs: number,
  ): void {
    account.logRows += 1n
    this.#accounts.add(account)
    this.#log.push({ record, seq: account.logRows, ...money, day: hold.periods.day, bookedDay: hold.bookedDay, atMs })
  }
}

function refusal(
  account: AccountRow | undefined,
  key: KeyRow | undefined,
  atMs: number,
): Extract<HoldOutcome, { status: 'refused' }>['reason'] | null {
  if (account === undefined || key === undefined || key.deleted || key.accountId !== account.id)
    return 'invalid_api_key'
  if (key.expiresAtMs !== null && key.expiresAtMs <= atMs) return 'key_expired'
  if (account.status === 'deactivated') return 'account_deactivated'
  if (account.status === 'locked') return 'api_locked'
  return key.disabled ? 'key_deactivated' : null
}

/** An expired hold whose request ended free: like a voided one, except for its state's name. */
function closedAfterExpiry(hold: HoldRow): boolean {
  return hold.state === 'expired' && hold.chargedMicro !== null
}

/** A guarded void whose answer was lost may have been charged: a repeat gets the same outcome. */
function voidOfCharged({ chargedMicro, shortfallMicro }: HoldRow, { guarded }: VoidRequest): VoidOutcome {
  return guarded === undefined
    ? { status: 'not_open', state: 'settled' }
    : { status: 'charged', chargedMicro: chargedMicro ?? 0n, shortfallMicro: shortfallMicro ?? 0n }
}

/** The day of a charge: the day it is made, and never in a closed month, whose statement the customer has seen. */
function bookedDay(hold: HoldRow, account: AccountRow, day = ''): string {
  const { day: placed } = hold.periods
  const booked = [day, account.openDay].reduce((latest, each) => (each > latest ? each : latest), placed)
  return booked === placed ? '' : booked
}

function newHold(request: HoldRequest): HoldRow {
  return {
    id: request.generationId,
    accountId: request.accountId,
    keyId: request.keyId,
    amountMicro: request.amountMicro,
    state: 'open',
    priceVersion: request.priceVersion,
    subject: request.subject,
    periods: request.periods,
    node: request.node,
    leaseUntilMs: request.leaseUntilMs,
    placedAtMs: request.atMs,
    endedAtMs: null,
    chargedMicro: null,
    shortfallMicro: null,
    bookedDay: '',
    intact: true,
  }
}

function least(first: Micro, ...rest: readonly Micro[]): Micro {
  return rest.reduce((smallest, value) => (value < smallest ? value : smallest), first)
}
