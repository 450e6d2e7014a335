import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signedUp, topUp, type ConsoleClient } from '../harness/console-client.ts'
import { movingGateway } from '../harness/gateway.ts'
import { DAY_MS, HOUR_MS } from '../../src/base/time.ts'

/** What a customer's charts say when time has passed. */

let browser: ConsoleClient
let email: string

const server = await movingGateway({ catalog: '', startUnixMs: Date.parse('2026-11-10T10:30:00Z') })
const made = await signedUp(server)
;({ browser, email } = made)
const { accountId } = made
await topUp(server, accountId, 1_000)
const key = (await browser.post('keys', { name: 'only' })).body.key

async function chat(): Promise<number> {
  const answer = await server.post('/v1/chat/completions', key, {
    model: 'sandbox/chat',
    messages: [{ role: 'user', content: 'x' }],
  })
  assert.equal(answer.status, 200, answer.text)
  return answer.body.usage.cost
}

/** No session lasts that long. */
async function later(byMs: number): Promise<void> {
  server.clock.advance(byMs)
  assert.equal((await browser.signIn(email)).status, 200)
}

const micro = (rub: number): number => Math.round(rub * 1e6)

test('a request counts in the hour in which it ended', async () => {
  const first = await chat()
  server.clock.advance(2 * HOUR_MS)
  const second = await chat()
  const { hours, cells, totals } = (await browser.get('usage/hours')).body
  const used = hours.filter(({ requests }: { requests: number }) => requests > 0)
  assert.deepEqual(
    used.map(({ cost }: { cost: number }) => cost),
    [first, second],
  )
  assert.equal(Date.parse(used[1].at) - Date.parse(used[0].at), 2 * HOUR_MS)
  assert.deepEqual(
    cells.map(({ at, group, cost }: Record<string, unknown>) => [at, group, cost]),
    used.map(({ at, cost }: Record<string, unknown>) => [at, 'sandbox/chat', cost]),
  )
  assert.equal(micro(totals.cost), micro(first) + micro(second))
})

test('the month is forecast after seven full days, by the average of the last seven and the days after today', async () => {
  assert.equal((await browser.get('usage')).body.forecast, null)
  await later(6 * DAY_MS)
  await chat()
  assert.equal((await browser.get('usage')).body.forecast, null, 'six days')
  await later(DAY_MS + HOUR_MS)
  await chat()
  const { days, forecast, to } = (await browser.get('usage')).body
  const costs = days.map(({ cost }: { cost: number }) => micro(cost))
  const week = costs.slice(-8, -1).reduce((sum: number, cost: number) => sum + cost, 0)
  const month = days
    .filter(({ day }: { day: string }) => day.slice(0, 7) === to.slice(0, 7))
    .reduce((sum: number, { cost }: { cost: number }) => sum + micro(cost), 0)
  const left = new Date(Date.UTC(Number(to.slice(0, 4)), Number(to.slice(5, 7)), 0)).getUTCDate() - Number(to.slice(8))
  assert.ok(week > 0)
  assert.deepEqual(
    [micro(forecast.spent), micro(forecast.average), forecast.days_left, micro(forecast.expected)],
    [month, Math.floor(week / 7), left, month + Math.floor((week * left) / 7)],
  )
})
