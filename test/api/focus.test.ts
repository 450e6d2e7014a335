import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { signedUp, topUp } from '../harness/console-client.ts'
import { startInProcess, type InProcessServer } from '../harness/in-process.ts'
import { refused } from '../harness/refused.ts'

/** FOCUS 1.2: the columns that it wants of everybody, and the rules for those that we have. */
const MANDATORY = [
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'ContractedCost',
  'EffectiveCost',
  'InvoiceIssuerName',
  'ListCost',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'ServiceCategory',
  'ServiceName',
]
const NEVER_NULL = new Set(
  MANDATORY.filter((name) => !['ChargeClass', 'PricingQuantity', 'PricingUnit'].includes(name)),
)
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

type Row = Readonly<Record<string, string>>
let server: InProcessServer
let one: Awaited<ReturnType<typeof signedUp>>
let other: Awaited<ReturnType<typeof signedUp>>

before(async () => {
  server = await startInProcess({ catalog: 'timezone: Europe/Moscow\nrate_limit: { requests: 100000, window: 60 }' })
  one = await signedUp(server)
  other = await signedUp(server)
  for (const [{ accountId, browser }, count] of [
    [one, 5],
    [other, 2],
  ] as const) {
    await topUp(server, accountId, 100)
    const { key } = (await browser.post('keys', { name: '=HYPERLINK("x"),k' })).body
    for (const model of ['sandbox/chat', 'sandbox/embeddings'])
      for (let sent = 0; sent < count; sent += 1) {
        const path = model === 'sandbox/chat' ? 'chat/completions' : 'embeddings'
        const body = {
          model,
          messages: [{ role: 'user', content: `hello ${'x'.repeat(sent)}` }],
          input: 'y'.repeat(sent + 1),
        }
        const { messages, input, ...rest } = body
        const sentBody = model === 'sandbox/chat' ? { ...rest, messages } : { ...rest, input }
        const answer = await server.request('POST', `/v1/${path}`, { key, body: sentBody })
        assert.equal(answer.status, 200, answer.text)
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
})

after(() => server.stop())

/** Cells without quotes inside them, as those of this test are but for names. */
function rowsOf(csv: string): { readonly names: readonly string[]; readonly rows: readonly Row[] } {
  const [head = '', ...lines] = csv.trimEnd().split('\r\n')
  const names = head.split(',')
  const rows = lines.map((line) => {
    const cells = [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
      ([, quoted, plain = '']) => quoted ?? plain,
    )
    assert.equal(cells.length, names.length, line)
    return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']))
  })
  return { names, rows }
}

function micro(text: string | undefined): bigint {
  const [, sign = '', whole = '', part = ''] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text ?? '') ?? []
  assert.ok(whole !== '', `'${text}' is a plain decimal`)
  return BigInt(`${sign}${whole}${part.padEnd(6, '0')}`)
}

function sumOf(rows: readonly Row[], column = 'BilledCost'): bigint {
  return rows.reduce((sum, row) => sum + micro(row[column]), 0n)
}

/** What the ledger charged an account and adjusted, micro-rubles. */
async function ledgerOf(accountId: string): Promise<bigint> {
  const { data } = (await server.admin('GET', `/admin/v1/accounts/${accountId}/ledger?limit=1000`)).body
  return data
    .filter(({ kind }: { kind: string }) => kind === 'charge' || kind === 'adjustment')
    .reduce((sum: bigint, { amount }: { amount: number }) => sum - BigInt(Math.round(amount * 1e6)), 0n)
}

test('the costs of the export are the ledger to the micro-ruble, of each account and of all', async () => {
  const all = rowsOf((await server.admin('GET', '/admin/v1/focus.csv')).text)
  let total = 0n
  for (const { accountId } of [one, other]) {
    const owed = await ledgerOf(accountId)
    total += owed
    const own = rowsOf((await server.admin('GET', `/admin/v1/focus.csv?account=${accountId}`)).text)
    assert.equal(sumOf(own.rows), owed, accountId)
    assert.equal(sumOf(all.rows.filter((row) => row['BillingAccountId'] === accountId)), owed)
  }
  assert.ok(total !== 0n)
  assert.equal(sumOf(all.rows), total)
  const usage = (await server.admin('GET', '/admin/v1/usage?group_by=account')).body.data
  const revenue = usage.reduce(
    (sum: bigint, row: { revenue: number }) => sum + BigInt(Math.round(row.revenue * 1e6)),
    0n,
  )
  assert.equal(sumOf(all.rows.filter((row) => row['ChargeCategory'] === 'Usage')), revenue)
})

test('the columns are those of FOCUS 1.2, first and in order, and each value is by its rules', async () => {
  const { names, rows } = rowsOf((await server.admin('GET', '/admin/v1/focus.csv')).text)
  for (const name of MANDATORY) assert.ok(names.includes(name), name)
  const own = names.filter((name) => name.startsWith('x_'))
  const theirs = names.filter((name) => !name.startsWith('x_'))
  assert.deepEqual(names, [...theirs.toSorted(), ...own])
  assert.equal(rows.length, 6)
  for (const row of rows) {
    const usage = row['ChargeCategory'] === 'Usage'
    assert.ok(usage || row['ChargeCategory'] === 'Adjustment')
    for (const name of NEVER_NULL) assert.notEqual(row[name], '', name)
    for (const name of ['EffectiveCost', 'ListCost', 'ContractedCost']) assert.equal(row[name], row['BilledCost'])
    for (const name of names.filter((some) => /Period(?:Start|End)$/.test(some))) assert.match(row[name] ?? '', TIME)
    assert.ok(String(row['ChargePeriodStart']).endsWith('T21:00:00Z'), 'a day of Moscow begins there')
    assert.ok(String(row['BillingPeriodStart']) <= String(row['ChargePeriodStart']))
    assert.ok(String(row['ChargePeriodEnd']) <= String(row['BillingPeriodEnd']))
    for (const [quantity, unit] of [
      ['ConsumedQuantity', 'ConsumedUnit'],
      ['PricingQuantity', 'PricingUnit'],
    ] as const)
      assert.deepEqual([row[quantity] !== '', row[unit]], [usage, usage ? 'Requests' : ''])
    assert.equal(row['ChargeFrequency'], usage ? 'Usage-Based' : 'One-Time')
    assert.equal(row['SkuId'] !== '', usage)
    assert.equal(row['BillingCurrency'], 'RUB')
  }
  const adjusted = rows.filter((row) => row['ChargeCategory'] === 'Adjustment')
  assert.deepEqual(
    adjusted.map((row) => [row['BilledCost'], row['ChargeDescription']]),
    [
      ['-1.000001', "'-gift"],
      ['0.5', "'-fine"],
    ],
  )
})

test('a customer exports their own, without what it cost the operator; names are no formulas', async () => {
  const answer = await one.browser.get('focus.csv?from=2026-01-01&to=2026-12-31')
  assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8')
  const { names, rows } = rowsOf(answer.text)
  assert.ok(!names.some((name) => ['x_Provider', 'x_ProviderCost', 'x_Insured'].includes(name)))
  assert.ok(rows.every((row) => row['BillingAccountId'] === one.accountId))
  assert.equal(sumOf(rows), await ledgerOf(one.accountId))
  assert.ok(rows.some((row) => row['SubAccountName']?.startsWith("'=HYPERLINK")))
  refused(await one.browser.get('focus.csv?from=2026-02-01&to=2026-01-01'), 400, 'invalid_input')
  refused(await server.admin('GET', '/admin/v1/focus.csv?from=2024-01-01&to=2026-01-01'), 400, 'invalid_input')
  refused(await server.admin('GET', '/admin/v1/focus.csv?account=acc_nobody'), 404, 'not_found')
  const past = await one.browser.get('focus.csv?from=2020-01-01&to=2020-01-02')
  assert.equal(rowsOf(past.text).rows.length, 0)
})
