import type { Principal } from '../../../access/principal.ts'
import { microOf } from '../../../base/money.ts'
import { fieldError } from '../../../base/refusals.ts'
import type { Route } from '../../../http/edge.ts'
import type { Judged } from '../../../kinds/fields/strict-body.ts'
import { adminRoute, recordChange, type AdminAnswer, type AdminCall, type AdminPorts } from '../ports.ts'
import { parseBill } from './bill-csv.ts'
import type { Reconciliation, ReconciliationBody } from './contract.ts'
import { reconcile } from './reconcile.ts'

/** One percent as the decimals of a body are read: in millionths. */
export const PERCENT = 1_000_000n

/** Comparison of the log with a provider's bill. */
export function reconciliationAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [adminRoute('POST /admin/v1/reconciliations', (call, read) => reconciliation(ports, call, read('tolerance')))]
}

async function reconciliation(
  ports: AdminPorts,
  call: AdminCall,
  { provider, csv, tolerance, currency = null }: Judged<ReconciliationBody, 'tolerance'>,
): Promise<AdminAnswer<'POST /admin/v1/reconciliations'>> {
  const body = await reconcile(ports, await parseBill(csv, currency), {
    provider,
    toleranceBasisPoints: basisPoints(microOf(tolerance ?? 1)),
  })
  await recordChange(ports, call, 'provider.reconcile', provider, null, resultOf(body))
  return body
}

/** Basis points of a percentage in millionths, such as 1.25 % = 1 250 000. */
export function basisPoints(percent: bigint): number {
  if (percent >= 0n && percent <= 100n * PERCENT && percent % (PERCENT / 100n) === 0n)
    return Number(percent / (PERCENT / 100n))
  throw fieldError('tolerance', 'percentage')
}

/** The event that it was done. */
export function resultOf({ from, to, ok, totals }: Reconciliation): Readonly<Record<string, unknown>> {
  return { from, to, ok, ...totals }
}
