import assert from 'node:assert/strict'
import { test } from 'node:test'
import { balanceIn } from '../../src/catalog/feeds/provider-balances.ts'
import type { BalanceApi } from '../../src/catalog/provider-feeds.ts'
import { movingGateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { listen } from '../harness/scripted-upstream.ts'

/** What providers tell of the money with them, read by its API and asked every 15 minutes. */
const paths: string[] = []
let left = 7.5
let status = 200
const provider = await listen((response, { path: url, headers }) => {
  paths.push(`${url} ${headers.authorization ?? ''}`)
  // This key may not read the credits of its account.
  if (url === '/v1/credits') response.writeHead(403).end('{}')
  else response.writeHead(status, { location: '/elsewhere' }).end(JSON.stringify({ data: { limit_remaining: left } }))
})

const server = await movingGateway({
  catalog: `
providers:
  acme: { adapter: openai, base_url: '${provider.url}/v1', api_key: [k1], balance: { api: openrouter, low: 20 } }
`,
})
/** Until it was asked again and has said so in the metrics. */
async function told(amount: number): Promise<void> {
  left = amount
  await until(20_000, `${amount} is read`, async () => {
    // A turn that still runs takes no other.
    server.clock.advance(15 * 60_000)
    return (await server.request('GET', '/metrics')).text.includes(
      `tollgate_provider_balance{provider="acme",key="1",currency="USD"} ${amount}\n`,
    )
  })
}

test('a low balance is told once, and again after it was a tenth above the threshold', async () => {
  const { notices } = server.app.store
  const raised: string[] = []
  const { raise } = notices
  notices.raise = async (notice, channel) => {
    const isNew = await raise.call(notices, notice, channel)
    if (isNew) raised.push(`${notice.kind} ${String(notice.detail['balance'])}`)
    return isNew
  }
  for (const amount of [30, 7, 6, 21, 5, 22, 4, 3]) await told(amount)
  assert.deepEqual(raised, ['provider.balance_low 7', 'provider.balance_low 4'])
  assert.deepEqual([...new Set(paths)], ['/v1/credits Bearer k1', '/v1/key Bearer k1'])
})

test('what cannot be read is one line of the log until it can, and its figure is gone', async () => {
  const before = server.notices.length
  const asked = async (): Promise<void> => {
    const count = paths.length
    await until(20_000, 'it is asked', () => {
      server.clock.advance(15 * 60_000)
      return paths.length >= count + 2
    })
  }
  status = 302
  await asked()
  await asked()
  await until(20_000, 'its figure is gone', async () => {
    return !(await server.request('GET', '/metrics')).text.includes('tollgate_provider_balance{')
  })
  assert.deepEqual(server.notices.slice(before), [
    'The balance of provider acme, key 1, could not be read: it answered 302',
  ])
  status = 200
  await told(50)
})

test('answers are read by their API; what is no amount is none', () => {
  const cases: readonly (readonly [BalanceApi, unknown, number | null, string?])[] = [
    ['openrouter', { data: { total_credits: 100.5, total_usage: 25.75 } }, 74.75, 'USD'],
    ['openrouter', { data: { limit_remaining: 3, limit: 5 } }, 3, 'USD'],
    ['openrouter', { data: { limit_remaining: null } }, null],
    ['moonshot', { code: 0, data: { available_balance: 49.58894, cash_balance: -3 } }, 49.58894, 'USD'],
    ['deepseek', { is_available: true, balance_infos: [{ currency: 'CNY', total_balance: '110.00' }] }, 110, 'CNY'],
    [
      'deepseek',
      {
        balance_infos: [
          { currency: 'CNY', total_balance: '0.00' },
          { currency: 'USD', total_balance: '9' },
        ],
      },
      9,
      'USD',
    ],
    ['deepseek', { is_available: false, balance_infos: [{ currency: 'CNY', total_balance: '0.20' }] }, 0, 'CNY'],
    ['deepseek', { balance_infos: [{ currency: '<b>', total_balance: '1' }] }, null],
    ['deepseek', { balance_infos: [{ currency: 'USD', total_balance: 'NaN' }] }, null],
    ['deepseek', { balance_infos: { length: 5 } }, null],
    ['moonshot', { data: { available_balance: JSON.parse('1e999') as number } }, null],
    ['moonshot', [1], null],
    ['openrouter', null, null],
    ['openrouter', 'many', null],
  ]
  for (const [api, body, amount, currency] of cases)
    assert.deepEqual(
      balanceIn(api, body),
      amount === null ? null : { amount, currency },
      `${api} ${JSON.stringify(body)}`,
    )
})
