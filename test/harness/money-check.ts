import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { ApiClient } from './api-client.ts'
import { auditClean } from './audit.ts'

/** After a fault: no hold is left, what the account lost is the sum of its log, and the audit is clean. Waits for what still ends. */
export async function checkBooks(server: ApiClient, account: { readonly id: string }, balance: number, limitMs = 10_000): Promise<{ readonly charged: number; readonly rows: readonly Record<string, unknown>[] }> {
  const startedMs = performance.now()
  let record = await server.admin('GET', `/admin/v1/accounts/${account.id}`)
  for (; record.body.reserved !== 0; record = await server.admin('GET', `/admin/v1/accounts/${account.id}`)) {
    assert.ok(performance.now() - startedMs < limitMs, `${record.body.reserved} is still held`)
    await delay(50)
  }
  const { body } = await server.admin('GET', `/admin/v1/generations?account=${account.id}&limit=1000`)
  const chargedMicro = body.data.reduce((sum: number, row: { total_cost: number }) => sum + Math.round(row.total_cost * 1e6), 0)
  assert.equal(Math.round(record.body.balance * 1e6), balance * 1e6 - chargedMicro)
  await auditClean(server)
  return { charged: chargedMicro / 1e6, rows: body.data }
}
