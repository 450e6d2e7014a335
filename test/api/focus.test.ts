import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { focusWorld, type Customer } from './focus-world.ts'
import type { InProcessServer } from '../harness/in-process.ts'
import { FOCUS_COLUMNS, focusFaults, focusTable, type FocusRow } from '../harness/focus-rules.ts'
import { refused } from '../harness/refused.ts'

let server: InProcessServer
let one: Customer
let other: Customer

before(async () => {
  ;({ server, one, other } = await focusWorld())
})

after(() => server.stop())

function micro(text: string | undefined): bigint {
  const [, sign = '', whole = '', part = ''] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(text ?? '') ?? []
  assert.ok(whole !== '', `'${text}' is a plain decimal`)
  return BigInt(`${sign}${whole}${part.padEnd(6, '0')}`)
}

function sumOf(rows: readonly FocusRow[], column = 'BilledCost'): bigint {
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
  const all = focusTable((await server.admin('GET', '/admin/v1/focus.csv')).text)
  let total = 0n
  for (const { accountId } of [one, other]) {
    const owed = await ledgerOf(accountId)
    total += owed
    const own = focusTable((await server.admin('GET', `/admin/v1/focus.csv?account=${accountId}`)).text)
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

test('the file is as FOCUS 1.2 wants it, for the operator and for a customer, column by column', async () => {
  const whole = focusTable((await server.admin('GET', '/admin/v1/focus.csv')).text)
  const own = focusTable((await one.browser.get('focus.csv')).text)
  for (const { names, rows } of [whole, own]) {
    assert.deepEqual(focusFaults(names, rows), [])
    assert.ok(rows.length > 3)
    const theirs = names.filter((name) => name in FOCUS_COLUMNS)
    assert.deepEqual(theirs, Object.keys(FOCUS_COLUMNS), 'in the order of the specification')
  }
  const { names, rows } = whole
  assert.equal(rows.length, 6)
  for (const row of rows) {
    const isUsage = row['ChargeCategory'] === 'Usage'
    assert.ok(isUsage || row['ChargeCategory'] === 'Adjustment')
    assert.ok(String(row['ChargePeriodStart']).endsWith('T21:00:00Z'), 'a day of Moscow begins there')
    assert.deepEqual([row['ConsumedUnit'], row['PricingUnit']], isUsage ? ['Requests', 'Requests'] : ['', ''])
    assert.equal(row['ChargeFrequency'], isUsage ? 'Usage-Based' : 'One-Time')
    assert.equal(row['BillingCurrency'], 'RUB')
  }
  // The check sees what it is for.
  const [first = {}] = rows
  for (const [wrong, fault] of [
    [{ BilledCost: '1,5' }, /BilledCost: '1,5' is no decimal/],
    [{ BillingCurrency: 'rub' }, /BillingCurrency/],
    [{ ChargeCategory: 'usage' }, /ChargeCategory: 'usage' is not allowed/],
    [{ ChargePeriodEnd: first['ChargePeriodStart'] ?? '' }, /ends before it begins/],
    [{ SubAccountName: '' }, /SubAccountName: is null/],
    [{ EffectiveCost: '0' }, /EffectiveCost is not the BilledCost/],
  ] as const)
    assert.match(focusFaults(names, [{ ...first, ...wrong }]).join('\n'), fault)
  assert.deepEqual(focusFaults(names.slice(1), []), ['BilledCost: is missing'])
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
  const { names, rows } = focusTable(answer.text)
  assert.ok(!names.some((name) => ['x_Provider', 'x_ProviderCost', 'x_Insured'].includes(name)))
  assert.ok(rows.every((row) => row['BillingAccountId'] === one.accountId))
  assert.equal(sumOf(rows), await ledgerOf(one.accountId))
  assert.ok(rows.some((row) => row['SubAccountName']?.startsWith("'=HYPERLINK")))
  refused(await one.browser.get('focus.csv?from=2026-02-01&to=2026-01-01'), 400, 'invalid_input')
  refused(await server.admin('GET', '/admin/v1/focus.csv?from=2024-01-01&to=2026-01-01'), 400, 'invalid_input')
  refused(await server.admin('GET', '/admin/v1/focus.csv?account=acc_nobody'), 404, 'not_found')
  const past = await one.browser.get('focus.csv?from=2020-01-01&to=2020-01-02')
  assert.equal(focusTable(past.text).rows.length, 0)
})
