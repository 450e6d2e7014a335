import type { ErrorType } from '../../base/errors.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { rubles } from '../../base/money.ts'
import type { Overview } from './report-contract.ts'
import { adminRoute, type AdminPorts } from './ports.ts'
import { DAY_MS, dayAfter, isoTime } from '../../base/time.ts'

const DAYS = 30
const COVERED_DAYS = 3

/** The operator's first page, beside the reports. */
export function overviewAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [adminRoute('GET /admin/v1/overview', async () => await overview(ports))]
}

async function overview({ store, clock, periods }: AdminPorts): Promise<Overview> {
  const { recent, causes, lowBalances, ...money } = await store.overview.read({
    sinceMs: clock.now() - DAY_MS,
    fromDay: dayAfter(periods().day, 1 - DAYS),
    days: DAYS,
    coveredDays: COVERED_DAYS,
  })
  return {
    recent: {
      from: isoTime(recent.fromMs),
      requests: recent.requests,
      errors: recent.errors,
      flagged: recent.flagged,
      cache_saved: rubles(recent.cacheSavedMicro),
      ttft_ms: recent.ttft,
    },
    errors: causes.map(({ provider, errorType, requests }) => ({
      provider: provider === '' ? null : provider,
      // The store writes no other type.
      error_type: errorType === '' ? null : (errorType as ErrorType),
      requests,
    })),
    low_balances: lowBalances.map(({ id, name, availableMicro, spentMicro }) => ({
      id,
      name,
      available: rubles(availableMicro),
      spent: rubles(spentMicro),
    })),
    locked: { accounts: money.lockedAccounts, amount: rubles(money.lockedMicro) },
    pending_payments: { payments: money.pendingPayments, amount: rubles(money.pendingMicro) },
  }
}
