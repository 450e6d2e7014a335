import type { KeyRecord, KeySpend } from '../store/store.ts'
import { limitPeriod } from './ledger-core.ts'
import type { PeriodStarts } from './ledger-store.ts'

/** What a key's limit has left in its period; null for a key without a limit. */
export function limitRemaining(key: KeyRecord, spend: KeySpend, periods: PeriodStarts): bigint | null {
  const period = limitPeriod(key, periods)
  if (period === null || key.limitMicro === null) return null
  const spent = { total: spend.totalMicro, day: spend.dayMicro, week: spend.weekMicro, month: spend.monthMicro }[
    period.period
  ]
  const left = key.limitMicro - spent - spend.heldMicro
  return left > 0n ? left : 0n
}
