import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway, type Answer } from '../harness/gateway.ts'
import { refusedInWords as refused } from '../harness/refused.ts'

const tollgate = await gateway()

test('a charge is given back once, exactly, and never beyond it; the bill of its customer says so', async () => {
  const { id: accountId, key } = await tollgate.createAccount({ balance: 10 })
  const other = await tollgate.createAccount({ balance: 10 })
  const { headers } = await tollgate.post('/v1/chat/completions', key, {
    model: 'sandbox/chat',
    messages: [{ role: 'user', content: 'Hello' }],
  })
  const reference = headers['x-generation-id'] ?? ''
  const charged = (await tollgate.admin('GET', `/admin/v1/generations/${reference}`)).body.total_cost
  assert.ok(charged > 0)
  const give = (amount: number, to = accountId): Promise<Answer> =>
    tollgate.admin('POST', `/admin/v1/accounts/${to}/ledger`, {
      kind: 'adjustment',
      amount,
      reason: 'a fault',
      reference,
    })
  refused(await give(Number((charged + 0.000001).toFixed(6))), 409, 'conflict')
  refused(await give(-charged), 409, 'conflict')
  refused(await give(charged, other.id), 409, 'conflict')
  assert.equal((await tollgate.admin('GET', `/admin/v1/generations/${reference}`)).body.credit, null)
  assert.equal((await give(charged)).status, 201)
  const again = await give(charged)
  assert.deepEqual([again.status, again.body.balance], [200, 10], 'a repeat books nothing')
  refused(await give(0.000001), 409, 'conflict')
  const { credit } = (await tollgate.admin('GET', `/admin/v1/generations/${reference}`)).body
  assert.deepEqual([credit.amount, credit.reason], [charged, 'a fault'])
  const ledger = (await tollgate.admin('GET', `/admin/v1/accounts/${accountId}/ledger?kind=money`)).body
  assert.deepEqual([ledger.total, ledger.data[0].reference, ledger.data[0].amount], [2, reference, charged])
  assert.equal((await tollgate.admin('GET', '/admin/v1/audit')).body.ok, true)
})
