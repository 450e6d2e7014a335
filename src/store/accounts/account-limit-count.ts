import { accountPeriod, isEarlier, limitStart } from '../../ledger/account-limit.ts'
import type { LimitReset, PeriodStarts } from '../../ledger/ledger-store.ts'
import { big, bigOrNull, textOrNull, type Sql } from '../database.ts'
import { SELECT_ACCOUNT_SPEND } from '../ledger/ledger-values.ts'
import { changeRow, type Sealing } from '../sealed-row.ts'

/**
 * After a change of an account's limit, in its transaction: the row has what was spent in the limit's period so far,
 * and what is spent and held above a lowered limit (invariant I6).
 */
export async function countForLimit(sql: Sql, sealing: Sealing, id: string, periods: PeriodStarts): Promise<void> {
  const [row] = await sql.all('SELECT spend_limit, limit_reset, limit_start, held FROM account WHERE id = ?', [id])
  if (row === undefined) return
  const limitMicro = bigOrNull(row, 'spend_limit')
  // A CHECK of the schema bounds it.
  const limitReset = textOrNull(row, 'limit_reset') as LimitReset | null
  const period = accountPeriod({ id, limitMicro, limitReset }, periods)
  const sets = ['limit_start = ?', 'limit_spent = ?', 'limit_over = ?', 'limit_over_start = ?']
  if (period === null || limitMicro === null) {
    await changeRow(sql, sealing, 'account', id, { sets, values: [null, 0n, null, null] })
    return
  }
  const now = limitStart(period)
  const counted = textOrNull(row, 'limit_start')
  // A node whose clock is ahead has turned to the next period.
  const start = counted !== null && isEarlier(now, counted) ? counted : now
  const [sum] = await sql.all(SELECT_ACCOUNT_SPEND, [period.period, start.slice(period.period.length + 1), id])
  const spentMicro = sum === undefined ? 0n : big(sum, 'spent')
  const overMicro = spentMicro + big(row, 'held') - limitMicro
  const over = overMicro > 0n ? ([overMicro, start] as const) : ([null, null] as const)
  await changeRow(sql, sealing, 'account', id, { sets, values: [start, spentMicro, ...over] })
}
