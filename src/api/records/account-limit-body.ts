import { isoSeconds } from '../../base/time.ts'
import { rubles } from '../../base/money.ts'
import type { AccountRecord } from '../../store/accounts/account-store.ts'
import { accountPeriod, isEarlier, limitStart } from '../../ledger/account-limit.ts'
import type { AccountLimit } from './limits-contract.ts'
import type { PeriodStarts } from '../../ledger/ledger-store.ts'
import { periodEndMs } from '../../ledger/period.ts'

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
