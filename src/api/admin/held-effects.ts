import { decimalText, rubles } from '../../base/money.ts'
import { dayAfter } from '../../base/time.ts'
import type { Endpoint, Model, Prices, Snapshot } from '../../catalog/catalog.ts'
import { endpointId } from '../../catalog/document.ts'
import type { PriceChange } from '../../catalog/price-list.ts'
import { priceText, shownConditions, shownPrices, type ShownPrice } from '../../catalog/shown-prices.ts'
import type { CustomerUsage } from '../../store/log/generation-store.ts'
import { METER_TABLE, type Meter } from '../../tables/meter-table.ts'
import { exactCost, type PriceSheet, TYPICAL_USAGE, type Usage } from '../../tables/meters.ts'
import type { PriceEffect } from './catalog-contract.ts'
import type { AdminPorts } from './ports.ts'
import { percent } from './reports.ts'

const WEEK_DAYS = 7
const CUSTOMERS_MAX = 5

/** What each of the changes that wait would do if a person approved it. */
export async function effectsOf(
  { catalog, store, periods }: AdminPorts,
  held: readonly PriceChange[],
): Promise<(change: PriceChange) => PriceEffect> {
  if (held.length === 0) return (change) => effectOf(change, { now: undefined, next: undefined, used: [] }, new Map())
  const [now, next] = [catalog.current().models, catalog.preview(held)]
  const models = [...new Set(held.filter(({ row }) => row === undefined).map(({ model }) => model))]
  const used = await store.generations.customersOf(models, dayAfter(periods().day, 1 - WEEK_DAYS))
  const byRoute = Map.groupBy(used, ({ model, provider }) => `${model} ${provider}`)
  const names = await store.accounts.names(new Set(used.map(({ group }) => group)))
  return (change) =>
    effectOf(
      change,
      {
        now: routeOf(now, change),
        next: routeOf(next, change),
        used: change.row === undefined ? (byRoute.get(`${change.model} ${change.provider}`) ?? []) : [],
      },
      names,
    )
}

interface Route {
  readonly model: Model
  readonly endpoint: Endpoint | undefined
}

function routeOf(models: Snapshot['models'], { model: id, provider, endpoint }: PriceChange): Route | undefined {
  const model = models.get(id)
  const name = endpointId({ provider, model: endpoint })
  return model && { model, endpoint: model.endpoints.find((one) => one.id === name) }
}

interface Routes {
  readonly now: Route | undefined
  readonly next: Route | undefined
  readonly used: readonly CustomerUsage[]
}

function effectOf(
  { reason }: PriceChange,
  { now, next, used }: Routes,
  names: ReadonlyMap<string, string>,
): PriceEffect {
  const [before, after] = [now?.endpoint, next?.endpoint]
  const asks = (pick: 'buy' | 'sell', row: CustomerUsage, micro: bigint): number =>
    before === undefined || after === undefined ? 0 : moreADay(row, micro, before[pick], after[pick])
  const more = used.map((row) => ({
    account: row.group,
    name: names.get(row.group) ?? '',
    cost: asks('buy', row, row.providerCostMicro),
    day: asks('sell', row, row.revenueMicro),
  }))
  const concerned = more.filter(({ day }) => day !== 0).toSorted((one, other) => other.day - one.day)
  const sum = (pick: 'cost' | 'day'): number => more.reduce((all, row) => all + row[pick], 0)
  return {
    lines: reason === 'limits' || reason === 'gone' ? [] : linesOf(now, next),
    day: used.length === 0 ? null : { cost: sum('cost'), revenue: sum('day') },
    customer_count: concerned.length,
    customers: concerned.slice(0, CUSTOMERS_MAX).map(({ account, name, day }) => ({ account, name, day })),
    limits:
      now === undefined
        ? null
        : { context_length: now.model.contextLength, max_completion_tokens: now.model.maxCompletionTokens },
  }
}

/**
 * An estimate, for display only: what was paid × the change of the price of such a mix of input and output. Kinds
 * without tokens are taken to use one unit of everything that has a price.
 */
function moreADay(
  { inputTokens, outputTokens }: CustomerUsage,
  paidMicro: bigint,
  before: PriceSheet,
  after: PriceSheet,
): number {
  const hasTokens = inputTokens + outputTokens > 0
  const mix: Usage = hasTokens ? { input: inputTokens, output: outputTokens } : TYPICAL_USAGE
  const [old, next] = [before, after].map((sheet) => Number(decimalText(exactCost(mix, sheet)))) as [number, number]
  // What was free until now has no paid sum to scale.
  const micro = old > 0 ? Number(paidMicro) * (next / old - 1) : hasTokens ? next : 0
  return rubles(BigInt(Math.round(micro / WEEK_DAYS)))
}

/** The prices that differ, plain ones first; all of them where the route is new. */
function linesOf(now: Route | undefined, then: Route | undefined): PriceEffect['lines'] {
  const type = then?.model.type ?? now?.model.type
  if (type === undefined) return []
  const tables = [now, then].map((route) =>
    route?.endpoint === undefined ? [] : tablesOf(route.endpoint, shownPrices(type, route.endpoint.sell)),
  )
  const [before, after] = tables.map((all) => new Map(all.map((table) => [table.condition, table])))
  return [...new Set(tables.flat().map(({ condition }) => condition))].flatMap((condition) => {
    // A condition that one of the two lacks means its plain price there.
    const [old, next] = [before, after].map((all) => all?.get(condition) ?? all?.get(null))
    return [...new Set([old, next].flatMap((table) => table?.meters ?? []))].flatMap((meter) => {
      const { priceKey: price } = METER_TABLE[meter]
      const [was, is] = [lineOf(meter, old?.prices), lineOf(meter, next?.prices)]
      if (price === null || (was.cost === is.cost && was.sell === is.sell)) return []
      return [
        {
          price,
          condition,
          cost: was.cost,
          cost_after: is.cost,
          sell: was.sell,
          sell_after: is.sell,
          margin_percent: was.margin,
          margin_percent_after: is.margin,
        },
      ]
    })
  })
}

interface PriceTable {
  /** null = the plain prices. */
  readonly condition: string | null
  readonly prices: Pick<Prices, 'buy' | 'sell'>
  readonly meters: readonly Meter[]
}

function tablesOf(endpoint: Endpoint, plain: readonly ShownPrice[]): readonly PriceTable[] {
  const metersOf = (lines: readonly ShownPrice[]): readonly Meter[] => lines.map(({ meter }) => meter)
  // The plain prices of an endpoint with sizes are only the dearest of them.
  const sizes: readonly (readonly [string | null, Pick<Prices, 'buy' | 'sell'>])[] = [...(endpoint.variants ?? [])]
  return [
    ...(sizes.length === 0 ? [[null, endpoint] as const] : sizes).map(([condition, prices]) => ({
      condition,
      prices,
      meters: metersOf(plain),
    })),
    ...shownConditions(endpoint).map(({ condition, lines, ...prices }) => ({
      condition,
      prices,
      meters: metersOf(lines),
    })),
  ]
}

function lineOf(
  meter: Meter,
  prices: Pick<Prices, 'buy' | 'sell'> | undefined,
): { readonly cost: string | null; readonly sell: string | null; readonly margin: number | null } {
  if (prices === undefined) return { cost: null, sell: null, margin: null }
  const [cost, sell] = [priceText(meter, prices.buy), priceText(meter, prices.sell)]
  return { cost, sell, margin: percent(Number(sell) - Number(cost), Number(sell)) }
}
