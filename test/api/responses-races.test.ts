import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../harness/api-client.ts'
import { checkBooks } from '../harness/money-check.ts'
import { until } from '../harness/patience.ts'
import { respond } from '../harness/protocol-folds.ts'
import { logged, serveResponses, tollgate } from '../harness/responses-world.ts'

await serveResponses()

const BALANCE = 1_000
const ROUNDS = 8
/** Answers end after so many ms, and their cancelling comes at any moment of it. */
const DELAYS = [0, 1, 2, 3, 5, 8, 13, 21] as const

test('a cancelling that meets the end of an answer in the background: one of both, charged once, and the kept answer says which', async () => {
  const account = await tollgate.createAccount({
    balance: BALANCE,
    account: { rate_limit: { requests: 100_000, window: 60 } },
  })
  const { key } = account
  const call = (method: string, id: string, rest = ''): Promise<Answer> =>
    tollgate.request(method, `/v1/responses/${id}${rest}`, { key })
  const ends = new Map<string, number>()
  const ended = async (delayMs: number, index: number): Promise<void> => {
    const input = `sandbox: delay_ms=${delayMs} words=${1 + (index % 3)}`
    const { status, response } = await respond(tollgate.url, key, { model: 'test/sandbox', input, background: true })
    assert.equal(status, 200)
    const id: string = response.id
    // Some ask twice, and some remove it meanwhile.
    const cancels = Array.from({ length: 1 + (index % 2) }, () => call('POST', id, '/cancel'))
    const [removed] = await Promise.all([index % 4 === 3 ? call('DELETE', id) : null, ...cancels])
    if (removed !== null) {
      assert.equal(removed.status, 200)
      assert.equal((await call('GET', id)).status, 404)
    }
    const row = await logged(id.replace('resp-', 'gen-'), key)
    const said = String(row['status'])
    assert.ok(['completed', 'cancelled'].includes(said), said)
    ends.set(said, (ends.get(said) ?? 0) + 1)
    if (removed !== null) return
    await until(5_000, 'the kept answer has ended', async () => (await call('GET', id)).body.status !== 'in_progress')
    const { body } = await call('GET', id)
    assert.equal(body.status, said, `${id} after ${delayMs} ms`)
    assert.equal(body.usage?.cost ?? 0, row['total_cost'])
    for (const cancel of await Promise.all(cancels)) assert.deepEqual([cancel.status, cancel.body.status], [200, said])
    assert.equal((await call('POST', id, '/cancel')).body.status, said)
  }
  for (let round = 0; round < ROUNDS; round += 1)
    await Promise.all(DELAYS.map((delayMs, place) => ended(delayMs, round * DELAYS.length + place)))
  const { rows } = await checkBooks(tollgate, account, BALANCE)
  assert.equal(rows.length, ROUNDS * DELAYS.length)
  assert.equal(new Set(rows.map((row) => row['generation_id'] ?? row['id'])).size, rows.length)
  // A run in which only one of both ends came would say nothing.
  assert.ok((ends.get('completed') ?? 0) > 0 && (ends.get('cancelled') ?? 0) > 0, JSON.stringify([...ends]))
})
