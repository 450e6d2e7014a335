import assert from 'node:assert/strict'
import { test } from 'node:test'
import { focusWorld, type Customer } from './focus-world.ts'
import type { Gateway } from '../harness/gateway.ts'
import { refused } from '../harness/refused.ts'

type FocusRow = Readonly<Record<string, string>>

/** How FOCUS 1.2 writes each type in text: NumericFormat, DateTimeFormat, and a text that is not made of spaces. */
const TYPES = {
  /** Whole numbers too, but a column of them is read as one of integers, which the specification's validator refuses. */
  decimal: /^[+-]?\d+\.\d+(?:E[+-]?\d+)?$/,
  time: /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/,
  text: /\S/,
  currency: /^[A-Z]{3}$/,
} as const

interface Column {
  readonly type: keyof typeof TYPES
  /** Whether the specification wants it of everybody, or what it hangs on. */
  readonly presence: 'mandatory' | 'conditional' | 'recommended'
  /** Whether it must have a value in this row, must have none, or may be either. */
  readonly value: (row: FocusRow) => 'needed' | 'none' | 'any'
  readonly allowed?: readonly string[]
}

type Rule = Column['value']
const always: Rule = () => 'needed'
const isUsage = (row: FocusRow): boolean => row['ChargeCategory'] === 'Usage'
const ofUsage: Rule = (row) => (isUsage(row) ? 'needed' : 'any')
const with_ =
  (other: string): Rule =>
  (row) =>
    row[other] === '' ? 'none' : 'needed'
const column = (type: Column['type'], value: Rule, presence: Column['presence'] = 'mandatory'): Column => ({
  type,
  presence,
  value,
})

/** The subcategories of the one category that we use. */
const AI_SUBCATEGORIES = [
  'AI Platforms',
  'Bots',
  'Generative AI',
  'Machine Learning',
  'Natural Language Processing',
  'Other (AI and Machine Learning)',
]

/**
 * The columns of FOCUS 1.2 that the export has or must have, each with the rules of the specification for it: read
 * from its text, and not from our code.
 */
const FOCUS_COLUMNS: Readonly<Record<string, Column>> = {
  BilledCost: column('decimal', always),
  BillingAccountId: column('text', always),
  BillingAccountName: column('text', always),
  BillingCurrency: column('currency', always),
  BillingPeriodEnd: column('time', always),
  BillingPeriodStart: column('time', always),
  ChargeCategory: {
    ...column('text', always),
    allowed: ['Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment'],
  },
  // Corrections of earlier invoices only, and there are no invoices.
  ChargeClass: { ...column('text', () => 'none'), allowed: ['Correction'] },
  ChargeDescription: column('text', always),
  ChargeFrequency: {
    ...column('text', always, 'recommended'),
    allowed: ['One-Time', 'Recurring', 'Usage-Based'],
  },
  ChargePeriodEnd: column('time', always),
  ChargePeriodStart: column('time', always),
  // Of commitments, and there are none: its rules for ConsumedQuantity need the column.
  CommitmentDiscountStatus: { ...column('text', () => 'none', 'conditional'), allowed: ['Used', 'Unused'] },
  ConsumedQuantity: column('decimal', (row) => (isUsage(row) ? 'needed' : 'none'), 'conditional'),
  ConsumedUnit: column('text', with_('ConsumedQuantity'), 'conditional'),
  ContractedCost: column('decimal', always),
  EffectiveCost: column('decimal', always),
  InvoiceId: column('text', () => 'none', 'recommended'),
  InvoiceIssuerName: column('text', always),
  ListCost: column('decimal', always),
  PricingQuantity: column('decimal', ofUsage),
  PricingUnit: column('text', with_('PricingQuantity')),
  ProviderName: column('text', always),
  PublisherName: column('text', always),
  ServiceCategory: { ...column('text', always), allowed: ['AI and Machine Learning'] },
  ServiceName: column('text', always),
  ServiceSubcategory: { ...column('text', always, 'recommended'), allowed: AI_SUBCATEGORIES },
  SkuId: column('text', ofUsage, 'conditional'),
  SubAccountId: column('text', ofUsage, 'conditional'),
  SubAccountName: column('text', with_('SubAccountId'), 'conditional'),
  SubAccountType: column('text', with_('SubAccountId'), 'conditional'),
}

/** What a file says against FOCUS 1.2: a line for each fault. */
function focusFaults(names: readonly string[], rows: readonly FocusRow[]): readonly string[] {
  const faults: string[] = []
  const known = new Set(Object.keys(FOCUS_COLUMNS))
  for (const [name, { presence }] of Object.entries(FOCUS_COLUMNS))
    if (!names.includes(name) && presence !== 'recommended') faults.push(`${name}: is missing`)
  for (const name of names)
    if (!known.has(name) && !/^x_[A-Z]\w+$/.test(name)) faults.push(`${name}: a column of our own begins with x_`)
  if (new Set(names).size !== names.length) faults.push('two columns have one name')
  for (const [index, row] of rows.entries()) {
    const tell = (fault: string): unknown => faults.push(`row ${index + 1}: ${fault}`)
    for (const [name, rules] of Object.entries(FOCUS_COLUMNS))
      for (const fault of cellFaults(name, rules, row)) tell(fault)
    for (const fault of rowFaults(row)) tell(fault)
  }
  return faults
}

function cellFaults(name: string, { type, value: rule, allowed }: Column, row: FocusRow): readonly string[] {
  const text = row[name] ?? ''
  const wanted = rule(row)
  if (text === '') return wanted === 'needed' ? [`${name}: is null`] : []
  if (wanted === 'none') return [`${name}: must be null, is '${text}'`]
  if (!TYPES[type].test(text)) return [`${name}: '${text}' is no ${type}`]
  return allowed === undefined || allowed.includes(text) ? [] : [`${name}: '${text}' is not allowed`]
}

/** Rules between the columns of a row. */
function rowFaults(row: FocusRow): readonly string[] {
  const faults: string[] = []
  const at = (name: string): number => Date.parse(row[name] ?? '')
  if (at('ChargePeriodStart') >= at('ChargePeriodEnd')) faults.push('the charge ends before it begins')
  if (at('BillingPeriodStart') >= at('BillingPeriodEnd')) faults.push('the billing period ends before it begins')
  if (at('ChargePeriodStart') < at('BillingPeriodStart') || at('ChargePeriodEnd') > at('BillingPeriodEnd'))
    faults.push('the charge is outside its billing period')
  if (row['ChargeFrequency'] === 'Usage-Based' && row['ChargeCategory'] === 'Purchase')
    faults.push('a purchase is not usage-based')
  // There are no commitments, list discounts or negotiated prices, and no charge is made of others.
  for (const name of ['EffectiveCost', 'ContractedCost', 'ListCost'])
    if (row[name] !== row['BilledCost']) faults.push(`${name} is not the BilledCost`)
  return faults
}

/** The rows of a CSV file (RFC 4180), read as anybody would. */
function focusTable(csv: string): { readonly names: readonly string[]; readonly rows: readonly FocusRow[] } {
  const lines = recordsOf(csv)
  const [names = [], ...records] = lines
  return {
    names,
    rows: records.map((cells) => {
      assert.equal(cells.length, names.length, cells.join(' | '))
      return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']))
    }),
  }
}

function recordsOf(csv: string): string[][] {
  const records: string[][] = []
  let cells: string[] = []
  for (const [whole, quoted, plain = '', end = ''] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    if (whole === '') break
    cells.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === ',') continue
    records.push(cells)
    cells = []
  }
  return records
}

let server: Gateway
let one: Customer
let other: Customer

;({ server, one, other } = await focusWorld())

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
