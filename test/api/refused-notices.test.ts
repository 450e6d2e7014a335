import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR_MS, MINUTE_MS } from '../../src/base/time.ts'
import { signedUp, topUp } from '../harness/console-client.ts'
import { movingGateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { listen, sendJson } from '../harness/scripted-upstream.ts'

/** When a customer hears that requests are refused: not at each one, and not too often. */

interface Told {
  readonly account: string
  readonly data: { readonly key: string; readonly error_type: string; readonly requests: number }
}

const TOLD_MAX = 10
const told: Told[] = []
const receiver = await listen((response, { json }) => {
  told.push(json as Told)
  sendJson(response, {})
})
const tollgate = await movingGateway({ env: { ALLOW_PRIVATE_UPSTREAMS: 'true' } })
const made = await tollgate.admin('POST', '/admin/v1/notices/channels', {
  target: `${receiver.url}/hook`,
  kinds: ['requests.refused'],
})
assert.equal(made.status, 201, made.text)

async function customer(email: string) {
  const { browser, accountId } = await signedUp(tollgate, email)
  await topUp(tollgate, accountId, 10)
  const newKey = async (name: string): Promise<{ readonly id: string; readonly key: string }> =>
    (await browser.post('keys', { name })).body
  /** Sends requests that are refused, until they are counted. */
  const refuse = async ({ id, key }: { readonly id: string; readonly key: string }, model: string, times = 1) => {
    const count = async (): Promise<number> => {
      const { body } = await browser.get(`refusals?key=${id}&limit=300`)
      return (body.data as readonly { readonly times: number }[]).reduce((sum, row) => sum + row.times, 0)
    }
    const before = await count()
    const body = { model, messages: model === '' ? [] : [{ role: 'user', content: 'hi' }] }
    for (let time = 0; time < times; time += 1)
      assert.equal((await tollgate.post('/v1/chat/completions', key, body)).status, 400)
    await until(20_000, 'it is counted', async () => (await count()) === before + times)
  }
  const heard = (): readonly Told[] => told.filter(({ account }) => account === accountId)
  /** What is raised is sent at once, so nothing is still on its way once nothing waits. */
  const sent = async (): Promise<number> => {
    await until(20_000, 'nothing waits', async () => (await tollgate.app.store.notices.counts()).pending === 0)
    return heard().length
  }
  return { newKey, refuse, heard, sent }
}

test('a key is told of once for each cause, and again only after an hour without it', async () => {
  const { newKey, refuse, heard, sent } = await customer('quiet@example.com')
  const [one, other] = [await newKey('one'), await newKey('other')]
  await refuse(one, 'test/none', 3)
  await until(20_000, 'it is told', () => heard().length === 1)
  assert.deepEqual(
    heard().map(({ data: { key, error_type: cause } }) => [key, cause]),
    [[one.id, 'model_not_found']],
  )
  // The silence is counted from the last refusal, not from the last message.
  for (let minutes = 0; minutes < 120; minutes += 40) {
    tollgate.clock.advance(40 * MINUTE_MS)
    await refuse(one, 'test/none')
    assert.equal(await sent(), 1)
  }
  await refuse(other, 'test/none')
  await until(20_000, 'another key is told of', () => heard().length === 2)
  await refuse(one, '')
  await until(20_000, 'another cause is told of', () => heard().length === 3)
  tollgate.clock.advance(HOUR_MS + MINUTE_MS)
  await refuse(one, 'test/none', 2)
  await until(20_000, 'it is told again', () => heard().length === 4)
  assert.equal(heard().at(-1)?.data.key, one.id)
  assert.equal(await sent(), 4)
})

test('an account hears of no more than ten an hour, another account of its own', async () => {
  const many = await customer('many@example.com')
  const few = await customer('few@example.com')
  // The hour is that of the clock.
  tollgate.clock.advance(HOUR_MS - (tollgate.clock.now() % HOUR_MS) + MINUTE_MS)
  const keys = await Promise.all(Array.from({ length: TOLD_MAX + 2 }, (_, index) => many.newKey(`key ${index}`)))
  for (const key of keys) await many.refuse(key, 'test/none')
  await until(20_000, 'ten are told', () => many.heard().length === TOLD_MAX)
  await few.refuse(await few.newKey('own'), 'test/none')
  await until(20_000, 'the other account hears of its own', () => few.heard().length === 1)
  assert.equal(await many.sent(), TOLD_MAX)
  tollgate.clock.advance(HOUR_MS + MINUTE_MS)
  const last = keys.at(-1)
  assert.ok(last !== undefined)
  await many.refuse(last, 'test/none')
  await until(20_000, 'the next hour has its own ten', () => many.heard().length === TOLD_MAX + 1)
  assert.equal(many.heard().at(-1)?.data.key, last.id)
})
