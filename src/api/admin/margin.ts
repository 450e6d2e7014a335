import type { Principal } from '../../access/principal.ts'
import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { priceText, shownConditions, shownPrices, type ShownPrice } from '../../catalog/shown-prices.ts'
import type { PriceSheet } from '../../tables/meters.ts'
import { dayRange, daysBetween } from '../../base/query-parameters.ts'
import type { Route } from '../../http/edge.ts'
import { rubles } from '../../base/money.ts'
import type { UsageRow } from '../../store/log/generation-store.ts'
import type { PricedEndpoint, PricedModel } from './catalog-contract.ts'
import { UsageSums, type MarginReport } from './report-contract.ts'
import { adminRoute, type AdminCall, type AdminAnswer, type AdminPorts } from './ports.ts'
import { dayAfter } from '../../base/time.ts'
import { wire } from '../../base/wire-route.ts'

/** Margin reports: by model at today's prices, and by past sales. */
export function marginAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/models', async () => pricedModels(ports)),
    adminRoute('GET /admin/v1/margin', async (call) => await report(ports, call)),
  ]
}

function pricedModels(ports: AdminPorts): AdminAnswer<'GET /admin/v1/models'> {
  const { models } = ports.catalog.current()
  const data = ports.catalog.shown().models.map((entry): PricedModel => {
    const model = models.get(entry.id)
    return {
      id: entry.id,
      name: entry.name ?? entry.id,
      type: entry.type,
      active: model !== undefined,
      hidden: entry.hidden ?? false,
      context_length: entry.context_length ?? null,
      endpoints: model === undefined ? [] : model.endpoints.map((endpoint) => pricedEndpoint(ports, model, endpoint)),
    }
  })
  return { data, total: data.length }
}

function pricedEndpoint(ports: AdminPorts, model: Model, endpoint: Endpoint): PricedEndpoint {
  return {
    endpoint: endpoint.id,
    provider: endpoint.provider.slug,
    provider_name: endpoint.provider.name,
    upstream_model: endpoint.upstreamModel,
    state: ports.health.report(endpoint.id).unhealthy ? 'cooling_down' : 'healthy',
    lines: shownPrices(model.type, endpoint.sell).map((shown) => priceLine(shown, endpoint.buy)),
    conditions: shownConditions(endpoint).map(({ condition, buy, lines }) => ({
      condition,
      lines: lines.map((shown) => priceLine(shown, buy)),
    })),
  }
}

function priceLine({ key: price, meter, text: sell }: ShownPrice, buy: PriceSheet): PricedEndpoint['lines'][number] {
  const cost = priceText(meter, buy)
  return { price, cost, sell, margin_percent: percent(Number(sell) - Number(cost), Number(sell)) }
}

/** For display only: no amount is calculated with it. */
export function percent(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 1_000) / 10
}

async function report(ports: AdminPorts, call: AdminCall): Promise<MarginReport> {
  const { from, to } = dayRange(call.query, ports.periods().day)
  const { days, models, providers, conditions, accounts, caches } = await ports.store.generations.margin(
    from,
    dayAfter(to, 1),
  )
  const byDay = new Map(days.map((row) => [row.group, row]))
  const whole = days.reduce(added, NOTHING)
  return {
    from,
    to,
    totals: { ...usageSums(whole), margin_percent: marginPercent(whole) },
    days: daysBetween(from, to).map((day) => ({ day, ...usageSums(byDay.get(day) ?? NOTHING) })),
    models: models.map(marginRow),
    providers: providers.map(marginRow),
    conditions: conditions.map((row) => ({ ...marginRow(row), condition: row.condition || null })),
    accounts: accounts.map((row) => ({ ...marginRow(row), name: row.name })),
    caches: {
      saved: rubles(caches.models.reduce((sum, { savedMicro }) => sum + savedMicro, 0n)),
      models: caches.models.map(({ id, savedMicro }) => ({ id, saved: rubles(savedMicro) })),
      keys: caches.keys.map(({ id, name, accountId, savedMicro }) => ({
        id,
        name,
        account: accountId,
        saved: rubles(savedMicro),
      })),
    },
  }
}

function marginRow(row: UsageRow): UsageSums & { readonly id: string; readonly margin_percent: number | null } {
  return { id: row.group, ...usageSums(row), margin_percent: marginPercent(row) }
}

const NOTHING: UsageRow = {
  group: '',
  requests: 0,
  inputTokens: 0,
  outputTokens: 0,
  revenueMicro: 0n,
  providerCostMicro: 0n,
  insuredMicro: 0n,
  shortfallMicro: 0n,
}

function added(left: UsageRow, right: UsageRow): UsageRow {
  return {
    group: '',
    requests: left.requests + right.requests,
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    revenueMicro: left.revenueMicro + right.revenueMicro,
    providerCostMicro: left.providerCostMicro + right.providerCostMicro,
    insuredMicro: left.insuredMicro + right.insuredMicro,
    shortfallMicro: left.shortfallMicro + right.shortfallMicro,
  }
}

/** The numbers of a report's row. */
export function usageSums(row: UsageRow): UsageSums {
  return wire(UsageSums, row, { margin: rubles(row.revenueMicro - row.providerCostMicro - row.insuredMicro) })
}

function marginPercent(row: UsageRow): number | null {
  return percent(Number(row.revenueMicro - row.providerCostMicro - row.insuredMicro), Number(row.revenueMicro))
}
