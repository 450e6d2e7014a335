import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movingGateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { listen } from '../harness/scripted-upstream.ts'

const MINUTE_MS = 60_000
const WAIT_MS = 5_000

/** The Central Bank: its rates, and the number of fetches. */
const bank = { usd: '100,0000', works: true, asked: 0 }

const listener = await listen((response) => {
  bank.asked += 1
  if (!bank.works) return void response.writeHead(503).end('busy')
  const entry = (code: string, value: string): string =>
    `<Valute ID="R0"><CharCode>${code}</CharCode><Nominal>1</Nominal><Value>${value}</Value></Valute>`
  response
    .writeHead(200)
    .end(`<ValCurs Date="21.11.2026">${entry('USD', bank.usd)}${entry('EUR', '110,0000')}</ValCurs>`)
})
const server = await movingGateway({
  catalog: 'rates: { source: cbr, USD: 100 }\nmarkup: 1\n',
  env: { TOLLGATE_CBR_URL: `${listener.url}/` },
})

async function warnings(): Promise<readonly Record<string, unknown>[]> {
  return (await server.admin('GET', '/admin/v1/warnings')).body.data
}

async function events(): Promise<readonly string[]> {
  const { data } = (await server.admin('GET', '/admin/v1/events?action=rates.')).body
  return data.map(({ action, actor }: { action: string; actor: string }) => `${actor} ${action}`).toReversed()
}

/** Advances the clock to the next try. */
async function tried(): Promise<void> {
  const before = bank.asked
  await until(WAIT_MS, 'the Bank is asked', () => {
    // The next try is scheduled only once the one before has ended.
    server.clock.advance(15 * MINUTE_MS)
    return bank.asked > before
  })
}

test('a dead feed and a rate that jumped are an event when they begin and end, and a warning while they last', async () => {
  await server.app.rateFeed.start()
  assert.deepEqual([await warnings(), await events()], [[], []])

  bank.works = false
  await tried()
  await until(WAIT_MS, 'it is told', async () => (await warnings()).length === 1)
  const [dead] = await warnings()
  assert.deepEqual([dead?.['kind'], dead?.['reason']], ['rates_failed', 'it answered 503'])
  for (let times = 0; times < 3; times += 1) await tried()
  assert.deepEqual(await events(), ['cbr rates.failed'], 'one event, however often it was tried')
  assert.equal((await warnings())[0]?.['since'], dead?.['since'])

  Object.assign(bank, { works: true, usd: '140,0000' })
  await tried()
  await until(WAIT_MS, 'it is told', async () => (await warnings())[0]?.['kind'] === 'rates_refused')
  assert.deepEqual((await warnings())[0]?.['rates'], [{ currency: 'USD', rate: '140', held: '100' }])
  bank.usd = '141,0000'
  await tried()
  assert.equal((await server.admin('GET', '/admin/v1/settings')).body.rates.USD, 100)

  bank.usd = '120,0000'
  await tried()
  await until(WAIT_MS, 'it is mended', async () => (await warnings()).length === 0)
  assert.equal((await server.admin('GET', '/admin/v1/settings')).body.rates.USD, 120)
  assert.deepEqual(await events(), ['cbr rates.failed', 'cbr rates.refused', 'cbr rates.mended'])

  // A rate that the operator sets is never fetched, so there is no warning.
  bank.usd = '190,0000'
  await tried()
  await until(WAIT_MS, 'it is told', async () => (await warnings()).length === 1)
  await server.admin('PATCH', '/admin/v1/settings', { rates: { USD: 185 } })
  assert.deepEqual(await warnings(), [])
  await server.admin('PATCH', '/admin/v1/settings', { rates: { source: 'cbr' } })
  await until(
    WAIT_MS,
    'the rate near the one that was set is taken',
    async () => (await events()).at(-1) === 'cbr rates.mended',
  )
  assert.deepEqual(await warnings(), [])
})

test('warnings are for administrators', async () => {
  assert.equal((await server.request('GET', '/admin/v1/warnings')).status, 401)
})
