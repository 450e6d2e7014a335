import { rubles } from '../../base/money.ts'
import { isoSeconds, isoTime } from '../../base/time.ts'
import { accountPeriod, isEarlier, limitPeriod, limitStart } from '../../ledger/hold-rules.ts'
import type { PeriodStarts } from '../../ledger/ledger-store.ts'
import { periodEndMs } from '../../ledger/period.ts'
import type { AccountRecord } from '../../store/accounts/account-store.ts'
import type { KeySpend } from '../../store/accounts/key-lists.ts'
import { type KeyLimits, type KeyRecord, NO_LIMITS } from '../../store/accounts/key-store.ts'
import type { AccountLimit } from './limits-contract.ts'

/** The money left of a key's limit in its period; null without a limit. */
export function limitRemaining(
  key: Pick<KeyRecord, 'id' | 'limitMicro' | 'limitReset'>,
  spend: KeySpend,
  periods: PeriodStarts,
): bigint | null {
  const period = limitPeriod(key, periods)
  if (period === null || key.limitMicro === null) return null
  const spent = { total: spend.totalMicro, day: spend.dayMicro, week: spend.weekMicro, month: spend.monthMicro }[
    period.period
  ]
  const left = key.limitMicro - spent - spend.heldMicro
  return left > 0n ? left : 0n
}

/** The spending of a new key. */
export const NOTHING_SPENT: KeySpend = { totalMicro: 0n, dayMicro: 0n, weekMicro: 0n, monthMicro: 0n, heldMicro: 0n }

/** A key in the form of the console and the operator's API; `limitFields` follow the fields of its spending limit. */
export function keyBody<More extends object>(
  key: KeyRecord,
  spend: KeySpend,
  periods: PeriodStarts,
  limitFields: More,
) {
  const remaining = limitRemaining(key, spend, periods)
  return {
    id: key.id,
    name: key.name,
    label: key.label,
    disabled: key.disabled,
    limit: key.limitMicro === null ? null : rubles(key.limitMicro),
    limit_reset: key.limitReset,
    limit_remaining: remaining === null ? null : rubles(remaining),
    ...limitFields,
    ...usageOf(spend),
    expires_at: isoTime(key.expiresAtMs),
    allowed_models: key.allowedModels,
    ...limitFieldsOf(key.limits),
    created_at: isoTime(key.createdAtMs),
    last_used_at: isoTime(key.lastUsedAtMs),
    old_secret_until: isoTime(key.graceUntilMs),
  }
}

/** What a key has spent, with the names of the wire. */
export function usageOf({ totalMicro, dayMicro, weekMicro, monthMicro }: KeySpend) {
  return {
    usage: rubles(totalMicro),
    usage_daily: rubles(dayMicro),
    usage_weekly: rubles(weekMicro),
    usage_monthly: rubles(monthMicro),
  }
}

/** The limits of a key with their wire names. */
export function limitFieldsOf(limits: KeyLimits | null) {
  const { requestsPerMinute, tokensPerMinute, runningRequests, modelLimits, allowedIps } = limits ?? NO_LIMITS
  return {
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    running_requests: runningRequests,
    model_limits:
      modelLimits === null
        ? null
        : Object.fromEntries(
            Object.entries(modelLimits).map(([model, own]) => [
              model,
              { requests_per_minute: own.requestsPerMinute, tokens_per_minute: own.tokensPerMinute },
            ]),
          ),
    allowed_ips: allowedIps,
  }
}

type ShownAccount = Pick<
  AccountRecord,
  'id' | 'limitMicro' | 'limitReset' | 'limitStart' | 'limitSpentMicro' | 'heldMicro'
>

/** The limit of an account and what is used of it now. */
export function accountLimit(
  account: ShownAccount,
  now: { readonly periods: PeriodStarts; readonly atMs: number; readonly timezone: string },
): AccountLimit {
  const { limitMicro, limitReset, limitStart: counted, limitSpentMicro, heldMicro } = account
  const period = accountPeriod(account, now.periods)
  if (limitMicro === null || period === null)
    return { limit: null, limit_reset: null, limit_used: null, limit_remaining: null, limit_resets_at: null }
  const start = limitStart(period)
  // A row of an earlier period means that no request has been counted in this one.
  const isCounted = start === counted || isEarlier(start, counted)
  const usedMicro = isCounted ? limitSpentMicro : 0n
  const leftMicro = limitMicro - usedMicro - heldMicro
  return {
    limit: rubles(limitMicro),
    limit_reset: limitReset,
    limit_used: rubles(usedMicro),
    limit_remaining: rubles(leftMicro > 0n ? leftMicro : 0n),
    limit_resets_at: limitReset === null ? null : isoSeconds(periodEndMs(now.atMs, limitReset, now.timezone)),
  }
}
