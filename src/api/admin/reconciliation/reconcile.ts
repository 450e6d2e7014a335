import type { CatalogService } from '../../../catalog/catalog-service.ts'
import type { Snapshot } from '../../../catalog/catalog.ts'
import { fieldError, reasonError } from '../../../base/refusals.ts'
import { daysBetween } from '../../../base/query-parameters.ts'
import { rubles, type Decimal, type Micro } from '../../../base/money.ts'
import type { ProviderDay } from '../../../store/log/generation-store.ts'
import type { Store } from '../../../store/store.ts'
import type { BillLine } from './bill-csv.ts'
import type { Reconciliation, ReconciliationRow } from './contract.ts'
import { ownValue } from '../../../base/own-value.ts'
import { dayAfter } from '../../../base/time.ts'

const DAYS_MAX = 366
const HALF_DAY_MS = 43_200_000
/** A bill may be rounded by a kopeck in each line. */
const ROUNDING_MICRO = 10_000n
/** Digits kept where a bill covers days with different rates. */
const PRECISION = 10n ** 18n

export interface ReconciliationPorts {
  readonly catalog: Pick<CatalogService, 'current' | 'ratesAt'>
  readonly store: Pick<Store, 'generations'>
}

export interface ReconciliationOptions {
  readonly provider: string
  /** The difference that a period may have, in hundredths of a percent. */
  readonly toleranceBasisPoints: number
}

/**
 * Compares the provider costs of the usage log with a provider's bill, by day (or the bill's period) and model
 * (guarantees.md 3.2).
 */
export async function reconcile(
  ports: ReconciliationPorts,
  bill: readonly BillLine[],
  options: ReconciliationOptions,
): Promise<Reconciliation> {
  const snapshot = ports.catalog.current()
  if (!snapshot.providers.has(options.provider))
    throw reasonError(
      'unknown_id',
      { id: options.provider.slice(0, 200) },
      { says: `Provider '${options.provider.slice(0, 200)}' not found` },
    )
  const from = bill.reduce((least, line) => (line.from < least ? line.from : least), bill[0]?.from ?? '')
  const to = bill.reduce((most, line) => (line.to > most ? line.to : most), from)
  if (dayAfter(from, DAYS_MAX) <= to)
    throw fieldError(
      'csv',
      'days_most',
      { most: DAYS_MAX },
      `at most ${DAYS_MAX} days are compared at once, got ${from} to ${to}`,
    )
  const names = new BillNames(snapshot, options.provider)
  const ours = await ports.store.generations.providerDays(options.provider, from, dayAfter(to, 1))
  const rates = await ratesOf(ports.catalog, from, to)
  const rows = groupsOf(bill, ours, names).map((group) => rowOf(group, rates, options.toleranceBasisPoints))
  const sum = (field: 'oursMicro' | 'theirsMicro'): Micro => rows.reduce((total, row) => total + row[field], 0n)
  return {
    provider: options.provider,
    from,
    to,
    tolerance_percent: options.toleranceBasisPoints / 100,
    ok: rows.every(({ row }) => row.verdict === 'match'),
    totals: {
      ours: rubles(sum('oursMicro')),
      theirs: rubles(sum('theirsMicro')),
      difference: rubles(sum('theirsMicro') - sum('oursMicro')),
    },
    data: rows.map(({ row }) => row),
  }
}

interface Group {
  readonly from: string
  readonly to: string
  readonly model: string
  readonly lines: BillLine[]
  /** Our provider cost by day. */
  readonly ours: Map<string, Micro>
}

interface Period {
  readonly from: string
  readonly to: string
}

/**
 * Groups by model and period of the bill, and makes groups of what only our log has: other models, and days that the
 * bill leaves out. Lines of one model whose days overlap, such as a month and a correction of one day, form one period,
 * so that each of our days is compared once.
 */
function groupsOf(bill: readonly BillLine[], days: readonly ProviderDay[], names: BillNames): readonly Group[] {
  const groups = new Map<string, Group>()
  const groupOf = ({ from, to }: Period, model: string): Group => {
    const name = JSON.stringify([from, to, model])
    const group = groups.get(name) ?? { from, to, model, lines: [], ours: new Map<string, Micro>() }
    groups.set(name, group)
    return group
  }
  const linesOf = Map.groupBy(bill, ({ model }) => names.ofBill(model))
  const periodsOf = new Map([...linesOf].map(([model, lines]) => [model, together(lines)]))
  for (const [model, lines] of linesOf)
    for (const line of lines) groupOf(covering(periodsOf.get(model), line.from) ?? line, model).lines.push(line)
  const whole = together(bill)
  for (const { day, model, costMicro } of days) {
    const name = names.ofModel(model)
    const { ours } = groupOf(covering(periodsOf.get(name), day) ?? covering(whole, day) ?? { from: day, to: day }, name)
    ours.set(day, (ours.get(day) ?? 0n) + costMicro)
  }
  return [...groups.values()].toSorted(
    (left, right) =>
      compareText(left.from, right.from) || compareText(left.to, right.to) || compareText(left.model, right.model),
  )
}

/** Merges overlapping periods; sorted by their first day. */
function together(lines: readonly Period[]): readonly Period[] {
  const periods: Period[] = []
  for (const { from, to } of lines.toSorted((left, right) => compareText(left.from, right.from))) {
    const last = periods.at(-1)
    if (last === undefined || last.to < from) periods.push({ from, to })
    else if (last.to < to) periods[periods.length - 1] = { from: last.from, to }
  }
  return periods
}

/** The period that contains the day. A linear search will do: a bill has at most a year of days. */
function covering(periods: readonly Period[] | undefined, day: string): Period | undefined {
  return periods?.find(({ from, to }) => from <= day && day <= to)
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}

function rowOf(
  group: Group,
  rates: DayRates,
  basisPoints: number,
): { readonly row: ReconciliationRow; readonly oursMicro: Micro; readonly theirsMicro: Micro } {
  const { from, to, model, lines, ours } = group
  const oursMicro = [...ours.values()].reduce((sum, cost) => sum + cost, 0n)
  const theirsMicro = lines.reduce((sum, line) => sum + inMicro(line, ours, rates), 0n)
  const differenceMicro = theirsMicro - oursMicro
  const percent = oursMicro === 0n ? null : Number(rounded(differenceMicro * 10_000n, oursMicro)) / 100
  const row = {
    from,
    to,
    model,
    ours: rubles(oursMicro),
    theirs: rubles(theirsMicro),
    difference: rubles(differenceMicro),
    difference_percent: percent,
    verdict: verdictOf(group, oursMicro, theirsMicro, basisPoints),
  }
  return { row, oursMicro, theirsMicro }
}

function verdictOf(
  { lines, ours }: Group,
  oursMicro: Micro,
  theirsMicro: Micro,
  basisPoints: number,
): ReconciliationRow['verdict'] {
  const difference = theirsMicro - oursMicro
  const allowed = (oursMicro * BigInt(basisPoints)) / 10_000n
  const size = difference < 0n ? -difference : difference
  if (size <= (allowed > ROUNDING_MICRO ? allowed : ROUNDING_MICRO)) return 'match'
  if (lines.length === 0) return 'not_billed'
  if (ours.size === 0) return 'not_ours'
  return difference > 0n ? 'billed_more' : 'billed_less'
}

type DayRates = ReadonlyMap<string, Readonly<Record<string, Decimal>>>

/** The rates in force at noon UTC of each day; for a currency that was added later, the rates at the end of the day. */
async function ratesOf(catalog: ReconciliationPorts['catalog'], from: string, to: string): Promise<DayRates> {
  const rates = new Map<string, Readonly<Record<string, Decimal>>>()
  for (const day of daysBetween(from, to))
    rates.set(day, {
      ...(await catalog.ratesAt(Date.parse(day) + 2 * HALF_DAY_MS - 1)),
      ...(await catalog.ratesAt(Date.parse(day) + HALF_DAY_MS)),
    })
  return rates
}

/**
 * The line in rubles. Over several days, each day's rate is weighted by our usage on that day; if we used nothing, the
 * last day's rate holds.
 */
function inMicro(line: BillLine, ours: ReadonlyMap<string, Micro>, rates: DayRates): Micro {
  const rateOf = (day: string): Decimal => {
    const rate = ownValue(rates.get(day) ?? {}, line.currency)
    if (rate === undefined || rate.digits === 0n)
      throw fieldError('csv', 'csv_no_rate', { line: line.line, currency: line.currency, day })
    return rate
  }
  const used = [...ours].filter(([day, cost]) => cost > 0n && line.from <= day && day <= line.to)
  const days = used.length === 0 ? [[line.to, 1n] as const] : used
  let [rub, foreign] = [0n, 0n]
  for (const [day, cost] of days) {
    const { digits, scale } = rateOf(day)
    rub += cost * PRECISION
    foreign += (cost * PRECISION * 10n ** BigInt(scale)) / digits
  }
  const { digits, scale } = line.amount
  return rounded(digits * 1_000_000n * rub, foreign * 10n ** BigInt(scale))
}

/** Rounds half away from zero; `below` > 0. */
function rounded(above: bigint, below: bigint): bigint {
  const size = above < 0n ? -above : above
  const whole = (size * 2n + below) / (below * 2n)
  return above < 0n ? -whole : whole
}

/**
 * Maps the names that we and a bill use for one model to one label. Endpoints tie our model ids to the provider's
 * names.
 */
class BillNames {
  /** By lower-case name: the label, which is the first in order of the provider's names that are tied together. */
  readonly #upstream = new Map<string, string>()
  readonly #models = new Map<string, string>()

  constructor(snapshot: Snapshot, provider: string) {
    for (const model of snapshot.models.values()) {
      const own = model.endpoints
        .filter((endpoint) => endpoint.provider.slug === provider)
        .map(({ upstreamModel }) => upstreamModel)
      const tied = [...new Set(own.map((name) => this.#upstream.get(name.toLowerCase()) ?? name))]
      const label = tied.toSorted(compareText)[0]
      if (label === undefined) continue
      for (const [name, old] of this.#upstream) if (tied.includes(old)) this.#upstream.set(name, label)
      for (const [id, old] of this.#models) if (tied.includes(old)) this.#models.set(id, label)
      for (const name of own) this.#upstream.set(name.toLowerCase(), label)
      this.#models.set(model.id, label)
    }
  }

  /** A model that is no longer sold keeps its own id. */
  ofModel(id: string): string {
    return this.#models.get(id) ?? id
  }

  /** The bill's name may carry the snapshot's date, or be our own id. */
  ofBill(name: string): string {
    const lower = name.toLowerCase().replace(/^models\//, '')
    return (
      this.#upstream.get(lower) ??
      this.#models.get(name) ??
      this.#upstream.get(lower.replace(/-(?:\d{4}-\d{2}-\d{2}|\d{8})$/, '')) ??
      name
    )
  }
}
