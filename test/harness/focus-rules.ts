import assert from 'node:assert/strict'

export type FocusRow = Readonly<Record<string, string>>

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
export const FOCUS_COLUMNS: Readonly<Record<string, Column>> = {
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
export function focusFaults(names: readonly string[], rows: readonly FocusRow[]): readonly string[] {
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
export function focusTable(csv: string): { readonly names: readonly string[]; readonly rows: readonly FocusRow[] } {
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
