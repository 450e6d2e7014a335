import assert from 'node:assert/strict'
import { signedUp, topUp } from '../harness/console-client.ts'
import { gateway, type Gateway } from '../harness/gateway.ts'

export type Customer = Awaited<ReturnType<typeof signedUp>>

/** A server with the charges of two accounts, in days of Moscow, and two adjustments. */
export async function focusWorld(): Promise<{
  readonly server: Gateway
  readonly one: Customer
  readonly other: Customer
}> {
  const server = await gateway({
    catalog: 'timezone: Europe/Moscow\nrate_limit: { requests: 100000, window: 60 }',
  })
  const one = await signedUp(server)
  const other = await signedUp(server)
  for (const [{ accountId, browser }, count] of [
    [one, 5],
    [other, 2],
  ] as const) {
    await topUp(server, accountId, 100)
    const { key } = (await browser.post('keys', { name: '=HYPERLINK("x"),k' })).body
    for (let sent = 0; sent < count; sent += 1) {
      const messages = [{ role: 'user', content: `hello ${'x'.repeat(sent)}` }]
      for (const [path, body] of [
        ['chat/completions', { model: 'sandbox/chat', messages }],
        ['embeddings', { model: 'sandbox/embeddings', input: 'y'.repeat(sent + 1) }],
      ] as const) {
        const answer = await server.post(`/v1/${path}`, key, body)
        assert.equal(answer.status, 200, answer.text)
      }
    }
  }
  for (const [amount, reference] of [
    [1.000001, 'gift'],
    [-0.5, 'fine'],
  ] as const)
    await server.admin('POST', `/admin/v1/accounts/${one.accountId}/ledger`, {
      kind: 'adjustment',
      amount,
      reason: `-${reference}`,
      reference,
    })
  return { server, one, other }
}
