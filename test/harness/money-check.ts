import assert from 'node:assert/strict'
import type { ApiClient } from './api-client.ts'
import { auditClean } from './audit.ts'
import { until } from './patience.ts'

/**
 * After a fault: no hold is left, the account's loss is the sum of its log, and the audit is clean. Waits for running
 * ends.
 */
export async function checkBooks(
  server: ApiClient,
  account: { readonly id: string },
  balance: number,
  limitMs = 10_000,
): Promise<{ readonly charged: number; readonly rows: readonly Record<string, unknown>[] }> {
  const read = (): ReturnType<ApiClient['admin']> => server.admin('GET', `/admin/v1/accounts/${account.id}`)
  await until(limitMs, 'no hold is left', async () => (await read()).body.reserved === 0)
  const record = await read()
  const { body } = await server.admin('GET', `/admin/v1/generations?account=${account.id}&limit=1000`)
  const chargedMicro = body.data.reduce(
    (sum: number, row: { total_cost: number }) => sum + Math.round(row.total_cost * 1e6),
    0,
  )
  assert.equal(Math.round(record.body.balance * 1e6), balance * 1e6 - chargedMicro)
  await auditClean(server)
  return { charged: chargedMicro / 1e6, rows: body.data }
}
