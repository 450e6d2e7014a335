import type { Micro } from '../base/money.ts'
import { accountRoom, accountSpent, type Spends } from './account-limit.ts'
import { least, limitPeriod } from './hold-rules.ts'
import {
  spendKeyText,
  type AccountRow,
  type HoldOutcome,
  type HoldRequest,
  type KeyRow,
  type PeriodStarts,
} from './ledger-store.ts'

type Exceeded = Extract<HoldOutcome, { status: 'limit_exceeded' }>

/** The limit that the hold would pass, the key's before the account's; null = none. */
export function limitExceeded(
  { amountMicro, periods }: HoldRequest,
  { account, key }: { readonly account: AccountRow; readonly key: KeyRow },
  spends: Spends,
): Exceeded | null {
  const ofKey = exceeded(key, keySpent(key, periods, spends), amountMicro)
  if (ofKey !== null || account.limitMicro === null) return ofKey
  const ofAccount = exceeded(account, accountSpent(account, periods, spends), amountMicro)
  return ofAccount === null ? null : { ...ofAccount, ofAccount: true }
}

function exceeded(
  { limitMicro, limitReset, heldMicro }: Pick<KeyRow, 'limitMicro' | 'limitReset' | 'heldMicro'>,
  spentMicro: Micro,
  amountMicro: Micro,
): Exceeded | null {
  if (limitMicro === null || spentMicro + heldMicro + amountMicro <= limitMicro) return null
  return { status: 'limit_exceeded', limitMicro, limitReset, spentMicro, heldMicro }
}

/** What the limits of key and account leave beside what is held; null = neither has one. */
export function limitRoom(account: AccountRow, key: KeyRow, periods: PeriodStarts, spends: Spends): Micro | null {
  const { limitMicro, heldMicro } = key
  const ofKey = limitMicro === null ? null : limitMicro - keySpent(key, periods, spends) - heldMicro
  const ofAccount = accountRoom(account, periods, spends)
  return ofKey === null || ofAccount === null ? (ofKey ?? ofAccount) : least(ofKey, ofAccount)
}

/** What a key has spent in the period of its limit that a hold belongs to; 0 without a limit. */
export function keySpent(key: KeyRow, periods: PeriodStarts, spends: Spends): Micro {
  const period = limitPeriod(key, periods)
  return period === null ? 0n : (spends.get(spendKeyText(period)) ?? 0n)
}
