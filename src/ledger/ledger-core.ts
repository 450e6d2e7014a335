import { assert } from '../base/assert.ts'
import type { Micro } from '../base/money.ts'
import { entryHash } from './hash-chain.ts'
import type { JobMove, NewJob } from './job.ts'
import { AllowanceChanges } from './allowances.ts'
import {
  bookedDay,
  changedKeys,
  closedAfterExpiry,
  countSpent,
  least,
  limitExceeded,
  limitRoom,
  newHold,
  refusal,
  resized,
  voidOfCharged,
} from './hold-rules.ts'
import { countInFreeHour, isCharged, isFreeHourUsedUp, lostInFreeHour } from './free-hour.ts'
import type { GenerationRecord } from './generation-record.ts'
import { chargeNotices, jobNotices } from './notice.ts'
import {
  type NewNotice,
  spendKeyText,
  type AccountRow,
  type AllowanceOutcome,
  type AllowanceRequest,
  type EntryRow,
  type ExpireOutcome,
  type ExpireRequest,
  type HoldOutcome,
  type HoldRequest,
  type HoldRow,
  type KeyRow,
  type LedgerChanges,
  type LedgerOperation,
  type LedgerOutcome,
  type LedgerRows,
  type LogRow,
  type PeriodStarts,
  type SettledClaim,
  type SettleOutcome,
  type SettleRequest,
  type SpendChange,
  type SpendPeriod,
  type VoidOutcome,
  type VoidRequest,
} from './ledger-store.ts'

/**
 * The ledger's rules as a pure class: hold → settle | void | expire → late settle over loaded rows, operations in the
 * order of arrival. It changes the working copies of rows and returns the rows to write.
 */
export class LedgerBatch {
  readonly #rows: LedgerRows
  readonly #lowBalanceMicro: Micro
  readonly #accounts = new Set<AccountRow>()
  /** The amount that each key held before the batch. */
  readonly #keys = new Map<KeyRow, Micro>()
  readonly #newHolds = new Set<HoldRow>()
  readonly #endedHolds = new Set<HoldRow>()
  readonly #allowances = new AllowanceChanges()
  /** By hold that this batch draws: the allowance from which it was drawn. */
  readonly #sources = new Map<HoldRow, HoldRow>()
  readonly #spends = new Map<string, SpendChange>()
  readonly #entries: EntryRow[] = []
  readonly #log: LogRow[] = []
  readonly #newJobs: NewJob[] = []
  readonly #movedJobs: JobMove[] = []
  readonly #endedClaims: LedgerChanges['endedClaims'][number][] = []
  readonly #keptAnswers: LedgerChanges['keptAnswers'][number][] = []
  readonly #notices: NewNotice[] = []

  constructor(rows: LedgerRows, lowBalanceMicro: Micro = 0n) {
    this.#rows = rows
    this.#lowBalanceMicro = lowBalanceMicro
  }

  changes(): LedgerChanges {
    for (const account of this.#accounts)
      assert(account.availableMicro >= 0n && account.heldMicro >= 0n, `Account ${account.id} would go below zero.`)
    return {
      accounts: this.#accounts,
      keys: changedKeys(this.#keys),
      newHolds: this.#newHolds,
      endedHolds: this.#endedHolds,
      allowances: this.#allowances.changed(this.#newHolds),
      spends: [...this.#spends.values()],
      entries: this.#entries,
      log: this.#log,
      newJobs: this.#newJobs,
      movedJobs: this.#movedJobs,
      endedClaims: this.#endedClaims,
      keptAnswers: this.#keptAnswers,
      notices: this.#notices,
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
      case 'allowance':
        return this.#allow(operation)
    }
  }

  #hold(asked: HoldRequest): HoldOutcome {
    // The schema checks this too, but the hold may be written with a later batch, which it must not spoil.
    assert(asked.amountMicro >= 0n, `Hold ${asked.generationId} would hold less than nothing.`)
    const known = this.#rows.holds.get(asked.generationId)
    if (known !== undefined) {
      // A hold whose answer was lost may be repeated while it is open; an ended one must never pay for a second answer.
      assert(
        known.state === 'open' && known.accountId === asked.accountId,
        `Hold ${known.id} is placed again after it was ${known.state}.`,
      )
      return { status: 'held' }
    }
    const account = this.#rows.accounts.get(asked.accountId)
    const key = this.#rows.keys.get(asked.keyId)
    const reason = refusal(account, key, asked.atMs)
    if (reason !== null || account === undefined || key === undefined)
      return { status: 'refused', reason: reason ?? 'invalid_api_key' }
    if (asked.mayExceed === true && isFreeHourUsedUp(account, asked.atMs))
      return { status: 'refused', reason: 'free_hour_used_up' }
    const request = asked.mayExceed === true ? this.#withReserve(asked, account, key) : asked
    const exceeded = limitExceeded(request, { account, key }, this.#rows.spends)
    if (exceeded !== null) return exceeded
    if (account.availableMicro < request.amountMicro)
      return { status: 'insufficient_balance', availableMicro: account.availableMicro }
    this.#move(account, key, -request.amountMicro, request.amountMicro)
    const hold = newHold(request)
    this.#rows.holds.set(hold.id, hold)
    this.#newHolds.add(hold)
    if (request.job !== undefined) this.#newJobs.push(request.job)
    return { status: 'held' }
  }

  /**
   * The hold also covers what the account has cost us in this hour, as far as there is money, since a request that may
   * cost more than its hold could cost as much. So only few such requests run at once, but a single one is never
   * refused for this.
   */
  #withReserve(request: HoldRequest, account: AccountRow, key: KeyRow): HoldRequest {
    const { amountMicro, periods, atMs } = request
    const moreMicro = least(lostInFreeHour(account, atMs), this.#free(account, key, periods) - amountMicro)
    return moreMicro > 0n ? { ...request, amountMicro: amountMicro + moreMicro } : request
  }

  #settle(request: SettleRequest): SettleOutcome {
    return this.#refilled(request, this.#settleHold(request))
  }

  #settleHold(request: SettleRequest): SettleOutcome {
    const hold = this.#rows.holds.get(request.generationId) ?? this.#drawn(request)
    if (hold === undefined) return { status: 'not_open', state: 'missing' }
    if (hold.state === 'voided' || closedAfterExpiry(hold)) return { status: 'not_open', state: 'voided' }
    if (hold.state === 'settled' || hold.state === 'settled_late') {
      return { status: 'replayed', chargedMicro: hold.chargedMicro ?? 0n, shortfallMicro: hold.shortfallMicro ?? 0n }
    }
    if (request.claim !== undefined && this.#rows.claims.get(request.claim.id) !== hold.id)
      return { status: 'not_open', state: 'claim_lost' }
    if (!this.#moveJob(request.job)) return { status: 'not_open', state: 'job_moved' }
    this.#notices.push(...jobNotices(hold, request.job, request.atMs))
    return this.#charge(hold, request)
  }

  #charge(
    hold: HoldRow,
    request: Pick<
      SettleRequest,
      | 'costMicro'
      | 'providerCostMicro'
      | 'insuredMicro'
      | 'blamelessMicro'
      | 'record'
      | 'claim'
      | 'kept'
      | 'atMs'
      | 'day'
    >,
  ): Extract<SettleOutcome, { status: 'settled' | 'settled_late' | 'replayed' }> {
    const { account, key } = this.#owners(hold)
    // An expired hold has returned its money: a late settle takes the money that account and key have now.
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
    countSpent(account, hold.periods, chargedMicro, this.#rows.spends)
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
    const charge = { hold, account, key, chargedMicro, shortfallMicro, atMs: request.atMs }
    this.#notices.push(...chargeNotices(charge, this.#rows.spends, this.#lowBalanceMicro))
    return { status: late ? 'settled_late' : 'settled', chargedMicro, shortfallMicro }
  }

  #void(request: VoidRequest): VoidOutcome {
    return this.#refilled(request, this.#voidHold(request))
  }

  #voidHold(request: VoidRequest): VoidOutcome {
    const hold = this.#rows.holds.get(request.generationId) ?? this.#drawn(request)
    if (hold === undefined) return { status: 'not_open', state: 'missing' }
    if (hold.state === 'voided' || closedAfterExpiry(hold)) return { status: 'replayed' }
    if (hold.state === 'settled' || hold.state === 'settled_late') return voidOfCharged(hold, request)
    if (!this.#moveJob(request.job)) return { status: 'not_open', state: 'job_moved' }
    this.#notices.push(...jobNotices(hold, request.job, request.atMs))
    const { account, key } = this.#owners(hold)
    const { guarded } = request
    if (guarded !== undefined && isCharged(account, hold, { guarded, claims: this.#rows.claims, atMs: request.atMs })) {
      const { chargedMicro, shortfallMicro } = this.#charge(hold, {
        ...guarded,
        insuredMicro: request.insuredMicro - guarded.providerCostMicro,
        atMs: request.atMs,
        ...(request.blamelessMicro === undefined ? {} : { blamelessMicro: request.blamelessMicro }),
        ...(request.day === undefined ? {} : { day: request.day }),
      })
      return { status: 'charged', chargedMicro, shortfallMicro }
    }
    if (hold.state === 'open') {
      this.#move(account, key, hold.amountMicro, -hold.amountMicro)
      this.#end(hold, 'voided', request.atMs, null, null)
    } else {
      // The money is already back and `expired` is the final state: a charge of 0 shows that no settle may follow.
      hold.chargedMicro = 0n
      if (!this.#newHolds.has(hold)) this.#endedHolds.add(hold)
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

  /** Records what the operator paid without a charge to anybody. */
  #insure(
    account: AccountRow,
    hold: HoldRow,
    { insuredMicro, blamelessMicro = 0n, atMs }: Pick<SettleRequest, 'insuredMicro' | 'blamelessMicro' | 'atMs'>,
  ): void {
    countInFreeHour(account, atMs, { lostMicro: insuredMicro - blamelessMicro })
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
    // The sweep found it without a lock, so it may have ended or been renewed since.
    if (hold === undefined || hold.state !== 'open' || hold.leaseUntilMs >= request.atMs) return { status: 'kept' }
    const { account, key } = this.#owners(hold)
    this.#move(account, key, hold.amountMicro, -hold.amountMicro)
    this.#end(hold, 'expired', request.atMs, null, null)
    return { status: 'expired' }
  }

  /** Opens an allowance, makes it larger, or gives it back except for what is drawn. */
  #allow(request: AllowanceRequest): AllowanceOutcome {
    const known = this.#rows.holds.get(request.generationId)
    const account = this.#rows.accounts.get(request.accountId)
    const key = this.#rows.keys.get(request.keyId)
    const isOver = known !== undefined && known.state !== 'open'
    if (isOver || account === undefined || key === undefined) return { status: 'closed', allowance: null }
    const beforeMicro = known?.amountMicro ?? 0n
    const isRefused = refusal(account, key, request.atMs) !== null
    const freeMicro = isRefused || account.exactHolds ? null : this.#free(account, key, request.periods)
    const amountMicro = resized(request, beforeMicro, freeMicro)
    const isClosed = request.wantedMicro === 0n || isRefused || (known !== undefined && account.exactHolds)
    this.#move(account, key, beforeMicro - amountMicro, amountMicro - beforeMicro)
    const made = known === undefined && amountMicro > 0n ? newHold({ ...request, op: 'hold', amountMicro }) : null
    if (known !== undefined) this.#allowances.resize(known, amountMicro, request.atMs)
    else if (made !== null) {
      this.#rows.holds.set(made.id, made)
      this.#newHolds.add(made)
    }
    return { status: isClosed ? 'closed' : 'allowed', allowance: known ?? made }
  }

  /** The free amount of the account, or what a limit leaves if that is less. */
  #free(account: AccountRow, key: KeyRow, periods: PeriodStarts): Micro {
    return least(account.availableMicro, limitRoom(account, key, periods, this.#rows.spends) ?? account.availableMicro)
  }

  /**
   * The hold that an end carries, taken out of its allowance. If the allowance is over, as after a pause longer than
   * its lease, its money has gone back. Then the hold counts as expired too, and a late settle takes the money that is
   * left.
   */
  #drawn({ draw, atMs }: SettleRequest | VoidRequest): HoldRow | undefined {
    if (draw === undefined) return undefined
    const placed = newHold(draw.hold)
    const allowance = this.#rows.holds.get(draw.allowance)
    const isCovered =
      allowance !== undefined && allowance.state === 'open' && allowance.amountMicro >= placed.amountMicro
    const hold: HoldRow = isCovered
      ? placed
      : { ...placed, state: 'expired', leaseUntilMs: placed.placedAtMs, endedAtMs: atMs }
    if (isCovered) {
      this.#allowances.touch(allowance)
      allowance.amountMicro -= hold.amountMicro
      this.#sources.set(hold, allowance)
    }
    this.#rows.holds.set(hold.id, hold)
    this.#newHolds.add(hold)
    return hold
  }

  /**
   * Puts the hold's money back into the allowance, as far as that much is free, so that a busy node changes no row of
   * its allowance. If little is left, or the key is closed, nothing is put back, and the database decides the next
   * holds.
   */
  #refilled<T extends SettleOutcome | VoidOutcome>(
    { draw, generationId, atMs }: SettleRequest | VoidRequest,
    end: T,
  ): T {
    if (draw === undefined) return end
    const allowance = this.#rows.holds.get(draw.allowance)
    const hold = this.#rows.holds.get(generationId)
    const source = hold === undefined ? undefined : this.#sources.get(hold)
    if (hold !== undefined) this.#sources.delete(hold)
    if (allowance === undefined || allowance.state !== 'open') return { ...end, allowance: null }
    const { account, key } = this.#owners(allowance)
    const freeMicro = this.#free(account, key, allowance.periods)
    // The free amount is negative after the key's limit was lowered.
    const isClosed = freeMicro < 0n || account.exactHolds || refusal(account, key, atMs) !== null
    if (hold !== undefined && source !== undefined && draw.nodes !== null && !isClosed) {
      const wholeMicro = allowance.amountMicro + hold.amountMicro
      // Money is put back only if every node could have as much.
      if (freeMicro + allowance.amountMicro >= BigInt(draw.nodes) * wholeMicro) {
        this.#move(account, key, -hold.amountMicro, hold.amountMicro)
        allowance.amountMicro = wholeMicro
      }
    }
    return { ...end, allowance: isClosed ? null : allowance }
  }

  /** Compare and set: false = another process was faster. So the job and its money stay consistent. */
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
   * The part of a cost that can be charged: all that the hold covers and, beyond it, what account and key still have
   * (guarantees.md rule 11).
   */
  #chargeable(costMicro: Micro, coveredMicro: Micro, account: AccountRow, key: KeyRow, hold: HoldRow): Micro {
    if (costMicro <= coveredMicro) return costMicro
    const beyondMicro = account.availableMicro - coveredMicro
    const roomMicro = limitRoom(account, key, hold.periods, this.#rows.spends)
    const leftMicro = roomMicro === null ? beyondMicro : roomMicro - coveredMicro
    const extraMicro = least(costMicro - coveredMicro, beyondMicro, leftMicro)
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
    if (!this.#keys.has(key)) this.#keys.set(key, key.heldMicro)
    key.heldMicro += heldMicro
    this.#accounts.add(account)
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
    // A hold placed in this batch is written once, in its final state.
    if (!this.#newHolds.has(hold)) this.#endedHolds.add(hold)
  }

  /** Counts a charge in the periods in which its hold was placed (wire.md D-9.1). */
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
