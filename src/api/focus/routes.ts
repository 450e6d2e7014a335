import type { Principal } from '../../access/principal.ts'
import { type CsvValue, csvLine } from '../../base/csv.ts'
import { type Micro, decimalText } from '../../base/money.ts'
import { dayRange } from '../../base/query-parameters.ts'
import { isoSeconds } from '../../base/time.ts'
import type { Call, HIJACKED, Route } from '../../http/edge.ts'
import { sendCsv } from '../../http/reply.ts'
import { periodEndMs, periodStarts, startOfDay } from '../../ledger/period.ts'
import type { AdjustmentRow, ChargeStore, ChargedDay } from '../../store/ledger/charge-store.ts'
import { type AdminPorts, adminReply, notFound } from '../admin/ports.ts'
import type { CabinetFile } from '../cabinet/ports.ts'
import { FOCUS_ROUTE } from './contract.ts'

const PAGE_ROWS = 1_000
const NAME = 'Tollgate'

export interface FocusQuery {
  /** null = every account, with what its answers cost the operator. */
  readonly accountId: string | null
  /** Days, both included. */
  readonly from: string
  readonly to: string
  /** The time zone of the days and months. */
  readonly timezone: string
}

/** The bounds of the day and the month that a charge belongs to. */
interface Times {
  readonly day: string
  readonly dayAfter: string
  readonly month: string
  readonly monthAfter: string
}

/** A row of the export before it is written. */
interface Charge {
  readonly times: Times
  readonly billedMicro: Micro
  readonly of: ChargedDay | AdjustmentRow
}

type FocusColumn = readonly [name: string, of: (charge: Charge) => CsvValue]

const billed = ({ billedMicro }: Charge): CsvValue => amount(billedMicro)
const requests = (charge: Charge): CsvValue => {
  const of = day(charge)
  return of === null ? null : { decimal: `${of.requests}.0` }
}
const day = ({ of }: Charge): ChargedDay | null => ('requests' in of ? of : null)

/**
 * The columns of FOCUS 1.2 in their alphabetical order. A request is rounded once, as a whole, and a row sums many
 * requests, so it has costs and quantities but no unit prices. There are no invoices, list discounts or commitments.
 */
const COLUMNS: readonly FocusColumn[] = [
  ['BilledCost', billed],
  ['BillingAccountId', ({ of }) => of.accountId],
  // A name must not be empty.
  ['BillingAccountName', ({ of }) => of.accountName.trim() || of.accountId],
  ['BillingCurrency', () => 'RUB'],
  ['BillingPeriodEnd', ({ times }) => times.monthAfter],
  ['BillingPeriodStart', ({ times }) => times.month],
  ['ChargeCategory', (charge) => (day(charge) === null ? 'Adjustment' : 'Usage')],
  ['ChargeClass', () => null],
  ['ChargeDescription', ({ of }) => ('requests' in of ? `Requests to ${of.model}` : of.reason)],
  ['ChargeFrequency', (charge) => (day(charge) === null ? 'One-Time' : 'Usage-Based')],
  ['ChargePeriodEnd', ({ times }) => times.dayAfter],
  ['ChargePeriodStart', ({ times }) => times.day],
  // Usage has no commitments: readers judge ConsumedQuantity by this column.
  ['CommitmentDiscountStatus', () => null],
  ['ConsumedQuantity', requests],
  ['ConsumedUnit', (charge) => (day(charge) === null ? null : 'Requests')],
  ['ContractedCost', billed],
  ['EffectiveCost', billed],
  ['InvoiceId', () => null],
  ['InvoiceIssuerName', () => NAME],
  ['ListCost', billed],
  ['PricingQuantity', requests],
  ['PricingUnit', (charge) => (day(charge) === null ? null : 'Requests')],
  ['ProviderName', () => NAME],
  ['PublisherName', (charge) => day(charge)?.model.split('/')[0] ?? NAME],
  ['ServiceCategory', () => 'AI and Machine Learning'],
  ['ServiceName', () => 'Model access'],
  ['ServiceSubcategory', () => 'Generative AI'],
  ['SkuId', (charge) => day(charge)?.model ?? null],
  ['SubAccountId', (charge) => day(charge)?.keyId ?? null],
  ['SubAccountName', (charge) => day(charge)?.keyName?.trim() || (day(charge)?.keyId ?? null)],
  ['SubAccountType', (charge) => (day(charge) === null ? null : 'API key')],
  ['x_InputTokens', (charge) => day(charge)?.inputTokens ?? null],
  ['x_OutputTokens', (charge) => day(charge)?.outputTokens ?? null],
  ['x_PriceCondition', (charge) => day(charge)?.condition || null],
]

/** Columns that only the operator sees. */
const OPERATOR: readonly FocusColumn[] = [
  ['x_Insured', (charge) => amountOrNull(day(charge)?.insuredMicro)],
  ['x_Provider', (charge) => day(charge)?.provider || null],
  ['x_ProviderCost', (charge) => amountOrNull(day(charge)?.providerCostMicro)],
]

/**
 * Usage and cost by the FinOps Open Cost and Usage Specification, as CSV: a row for each day, key, model, provider and
 * condition of the price, and one for each adjustment. Its costs add up to the charges of the ledger less the
 * adjustments, to the micro-ruble; top-ups are no cost. Each page is read after the client has taken the one before.
 */
export async function* focusCsv(store: ChargeStore, query: FocusQuery): AsyncGenerator<string, void> {
  const columns = query.accountId === null ? [...COLUMNS, ...OPERATOR] : COLUMNS
  let head = csvLine(columns.map(([name]) => name))
  for await (const charges of pages(store, query)) {
    yield head + charges.map((charge) => csvLine(columns.map(([, of]) => of(charge)))).join('')
    head = ''
  }
}

async function* pages(
  store: ChargeStore,
  { accountId, from, to, timezone }: FocusQuery,
): AsyncIterable<readonly Charge[]> {
  const timesOf = calendar(timezone)
  for (let after: ChargedDay | null = null; ;) {
    const rows: readonly ChargedDay[] = await store.days({ accountId, from, to, after, limit: PAGE_ROWS })
    yield rows.map((of) => ({ times: timesOf(of.day), billedMicro: of.chargedMicro, of }))
    if (rows.length < PAGE_ROWS) break
    after = rows.at(-1) ?? null
  }
  const fromMs = startOfDay(from, timezone)
  const toMs = periodEndMs(startOfDay(to, timezone), 'daily', timezone)
  for (let after: AdjustmentRow | null = null; ;) {
    const rows: readonly AdjustmentRow[] = await store.adjustments({ accountId, fromMs, toMs, after, limit: PAGE_ROWS })
    yield rows.map((of) => ({
      times: timesOf(periodStarts(of.atMs, timezone).day),
      billedMicro: -of.amountMicro,
      of,
    }))
    if (rows.length < PAGE_ROWS) return
    after = rows.at(-1) ?? null
  }
}

/** The bounds of days and months. Finding them takes a search, so they are remembered: there are at most 366 days. */
function calendar(timezone: string): (day: string) => Times {
  const known = new Map<string, Times>()
  return (of) => {
    const before = known.get(of)
    if (before !== undefined) return before
    const startMs = startOfDay(of, timezone)
    const times = {
      day: isoSeconds(startMs),
      dayAfter: isoSeconds(periodEndMs(startMs, 'daily', timezone)),
      month: isoSeconds(startOfDay(`${of.slice(0, 7)}-01`, timezone)),
      monthAfter: isoSeconds(periodEndMs(startMs, 'monthly', timezone)),
    }
    known.set(of, times)
    return times
  }
}

/**
 * The amount, always with a decimal point: a reader that finds none in a column takes it for whole numbers, which FOCUS
 * does not allow.
 */
function amount(micro: Micro): CsvValue {
  const text = decimalText({ digits: micro, scale: 6 })
  return { decimal: text.includes('.') ? text : `${text}.0` }
}

function amountOrNull(micro: Micro | undefined): CsvValue {
  return micro === undefined ? null : amount(micro)
}

/** Usage and cost by FOCUS, of one account or all. */
export function focusAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminReply('GET /admin/v1/focus.csv', async (call) => {
      const id = call.query.get('account')
      if (id !== null && (await ports.store.accounts.get(id)) === null) throw notFound('Account', id)
      return focusExport(ports, call, id)
    }),
  ]
}

/** The account's own. */
export const FOCUS_FILE: CabinetFile = {
  scope: 'money:read',
  route: FOCUS_ROUTE,
  send: (ports, { call, accountId }) => focusExport(ports, call, accountId),
}

function focusExport(
  { store, catalog, periods }: Pick<AdminPorts, 'store' | 'catalog' | 'periods'>,
  call: Call<Principal>,
  accountId: string | null,
): Promise<typeof HIJACKED> {
  const { timezone } = catalog.current().settings
  const { from, to } = dayRange(call.query, periods().day)
  return sendCsv(call, `tollgate-focus-${from}-${to}.csv`, focusCsv(store.charges, { accountId, from, to, timezone }))
}
