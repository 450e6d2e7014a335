import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chat, makeKey, signUp } from '../harness/console-world.ts'
import { movingGateway, type MovingGateway } from '../harness/gateway.ts'

const HOUR_MS = 3_600_000

const tollgate = await movingGateway({ catalog: '' })
const customer = await signUp(tollgate, 'ann@example.com')

function rotate(id: string, body: object, who = customer): ReturnType<MovingGateway['request']> {
  return tollgate.request('POST', `/cabinet/v1/keys/${id}/rotate`, { body, headers: who.headers })
}

async function answered(key: string): Promise<readonly [status: number, type: string | undefined]> {
  const { status, body } = await chat(tollgate, key, 'Hello')
  return [status, body.error?.metadata.error_type]
}

test('the old secret of a key works until its grace ends, and money, limits and log stay the key’s', async () => {
  const made = await makeKey(tollgate, customer, { name: 'backend', limit: 1, limit_reset: 'monthly' })
  assert.deepEqual(await answered(made.key), [200, undefined])
  const spent = (await tollgate.request('GET', `/cabinet/v1/keys/${made.id}`, { headers: customer.headers })).body
  const { status, body: rotated } = await rotate(made.id, { grace_seconds: 3_600 })
  assert.equal(status, 200)
  assert.match(rotated.key, /^sk-tg-[0-9A-Za-z]{38}$/)
  assert.notEqual(rotated.label, spent.label)
  const same = ({
    key: _key,
    label: _label,
    old_secret_until: _until,
    last_used_at: _used,
    ...rest
  }: Record<string, unknown>) => rest
  assert.deepEqual(same(rotated), same(spent))
  assert.ok(spent.usage > 0)
  assert.ok(Math.abs(Date.parse(rotated.old_secret_until) - tollgate.clock.now() - HOUR_MS) < 60_000)
  assert.deepEqual(await answered(made.key), [200, undefined])
  assert.deepEqual(await answered(rotated.key), [200, undefined])
  const rows = await tollgate.request('GET', `/cabinet/v1/log?key=${made.id}&limit=10`, { headers: customer.headers })
  assert.equal(rows.body.data.length, 3)
  tollgate.clock.advance(HOUR_MS)
  assert.deepEqual(await answered(made.key), [401, 'key_expired'])
  assert.deepEqual(await answered(rotated.key), [200, undefined])
  const other = await signUp(tollgate, 'bob@example.com')
  assert.equal((await rotate(made.id, {}, other)).status, 404)
})

test('without a grace every old secret ends at once, and an unfit one is refused', async () => {
  const made = await makeKey(tollgate, customer, { name: 'leaked' })
  assert.equal((await answered(made.key))[0], 200)
  const second = (await rotate(made.id, {})).body.key
  assert.deepEqual(
    [await answered(made.key), await answered(second)],
    [
      [200, undefined],
      [200, undefined],
    ],
  )
  const third = (await rotate(made.id, { grace_seconds: 0 })).body
  assert.equal(third.old_secret_until, null)
  assert.deepEqual(await answered(made.key), [401, 'invalid_api_key'])
  assert.deepEqual(await answered(second), [401, 'invalid_api_key'])
  assert.deepEqual(await answered(third.key), [200, undefined])
  for (const unfit of [-1, 1.5, 2_592_001, '60'])
    assert.equal((await rotate(made.id, { grace_seconds: unfit })).status, 400, String(unfit))
  for (let index = 0; index < 10; index += 1) assert.equal((await rotate(made.id, {})).status, 200)
  const full = await rotate(made.id, {})
  assert.deepEqual([full.status, full.body.error.metadata.reason], [409, 'key_secrets_most'])
})

test('an operator replaces the secret of a key, of one that is switched off too', async () => {
  const { key, keyId } = await tollgate.createAccount()
  await tollgate.admin('PATCH', `/admin/v1/keys/${keyId}`, { disabled: true })
  const { status, body } = await tollgate.admin('POST', `/admin/v1/keys/${keyId}/rotate`, { grace_seconds: 60 })
  assert.equal(status, 200)
  assert.deepEqual(
    [await answered(key), await answered(body.key)],
    [
      [403, 'key_deactivated'],
      [403, 'key_deactivated'],
    ],
  )
  await tollgate.admin('DELETE', `/admin/v1/keys/${keyId}`)
  assert.deepEqual(
    [await answered(key), await answered(body.key)],
    [
      [401, 'invalid_api_key'],
      [401, 'invalid_api_key'],
    ],
  )
  assert.equal((await tollgate.admin('POST', `/admin/v1/keys/${keyId}/rotate`, {})).status, 404)
  const events = (await tollgate.admin('GET', '/admin/v1/events?action=key.rotate&limit=1')).body.data
  assert.ok(!JSON.stringify(events).includes(body.key))
  assert.equal(events[0].object, keyId)
})
