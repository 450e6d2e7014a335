import { microOf, rubles } from '../../base/money.ts'
import { serviceLowBalance } from '../../ledger/notice.ts'
import type { ConsolePorts } from './ports.ts'

type LowBalancePorts = Pick<ConsolePorts, 'store' | 'catalog' | 'clock'>

/** The balance below which people of an account get a notice, and the service's default, RUB. */
export async function lowBalanceOf(
  { store, catalog }: LowBalancePorts,
  accountId: string,
): Promise<{ readonly low_balance: number | null; readonly service_low_balance: number }> {
  const lowMicro = (await store.notices.lowBalance(accountId))?.lowMicro ?? null
  return {
    low_balance: lowMicro === null ? null : rubles(lowMicro),
    service_low_balance: rubles(serviceLowBalance(catalog.current().settings)),
  }
}

/** Sets that balance, in RUB; null = the service's default. false = it is so already. */
export async function setLowBalance(
  { store, catalog, clock }: LowBalancePorts,
  accountId: string,
  given: number | null,
): Promise<boolean> {
  const lowMicro = given === null ? null : microOf(given)
  if ((await store.notices.lowBalance(accountId))?.lowMicro === lowMicro) return false
  const fallbackMicro = serviceLowBalance(catalog.current().settings)
  await store.notices.setLowBalance(accountId, { lowMicro, fallbackMicro, atMs: clock.now() })
  return true
}
