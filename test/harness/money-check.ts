import assert from 'node:assert/strict'
import { type ApiClient, auditClean, type Answer } from './api-client.ts'
import { until, found } from './patience.ts'

const LIMIT_MS = 10_000

/** The log row of a generation, which is written a moment after the client got its answer or disconnected. */
export function loggedRow(server: ApiClient, key: string, generationId: unknown): Promise<Answer['body']> {
  return found(LIMIT_MS, `the log row of ${String(generationId)}`, async () => {
    const { body } = await server.get(`/v1/generation?generation_id=${String(generationId)}`, key)
    return body.total === 1 ? body.logs[0] : null
  })
}

/**
 * Checks the books after a fault: no hold is left, the account has lost the sum of its log, and the audit finds
 * nothing. Waits until requests that are still ending have ended.
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
