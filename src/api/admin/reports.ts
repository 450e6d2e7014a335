import type { Principal } from '../../access/principal.ts'
import type { ErrorType } from '../../base/errors.ts'
import { readEmail } from '../../base/mail-address.ts'
import { rubles } from '../../base/money.ts'
import { choiceParameter, dayRange, daysBetween, timeParameter } from '../../base/query-parameters.ts'
import { timeRange } from '../../base/time-range.ts'
import { DAY_MS, dayAfter, isoTime } from '../../base/time.ts'
import { type BodyOf, wire } from '../../base/wire-route.ts'
import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { currentRateTrouble } from '../../catalog/feed-rates.ts'
import { given } from '../../base/objects.ts'
import { type ShownPrice, priceText, shownConditions, shownPrices } from '../../catalog/shown-prices.ts'
import type { Route } from '../../http/edge.ts'
import type { EventAction } from '../../ledger/event-action.ts'
import { fieldError } from '../../base/refusals.ts'
import { periodStarts } from '../../ledger/period.ts'
import type { EventFilter, EventRecord } from '../../store/events/event-store.ts'
import type { UsageRow } from '../../store/log/generation-store.ts'
import type { EndUserRange } from '../../store/log/log-store.ts'
import type { PriceSheet } from '../../tables/meters.ts'
import { PARAMETER_NAMES, PARAMETER_TABLE } from '../../tables/parameter-table.ts'
import { ROLE_SCOPES } from '../../tables/scopes.ts'
import type { PricedEndpoint, PricedModel } from './catalog-contract.ts'
import type { AdminApi } from './contract.ts'
import { operatorRefusal } from './operator-log.ts'
import {
  type AdminAnswer,
  type AdminCall,
  type AdminPorts,
  adminRoute,
  listRoute,
  param,
  recordChange,
  refuseBeyondOwn,
  refuseLonger,
} from './ports.ts'
import { endUserRange, usage as accountUsage, withinMost } from '../cabinet/usage.ts'
import { accountNamed } from './accounts.ts'
import { listBody } from '../records/list-file.ts'
import {
  type AuditEvent,
  EventSort,
  type MarginReport,
  type OperatorWarning,
  type Overview,
  UsageGroup,
  UsageSums,
} from './report-contract.ts'
import { handedLink, refuseOwnLink } from './users.ts'

/** Parameters that travel in the same field: an endpoint that takes one of them is sent the field. */
const ALIKE: readonly (readonly string[])[] = [
  ['reasoning', 'reasoning_effort', 'include_reasoning'],
  ['response_format', 'structured_outputs'],
]
/** Two names for the cap of the output. */
const CAPS: readonly string[] = ['max_tokens', 'max_completion_tokens']
/** Sent if the endpoint has a price for it, whether or not the endpoint lists it. */
const PRICED = 'service_tier'
/** Parameters that an endpoint gets only if it lists them, or gets in another form if it lists them. */
const LISTED: ReadonlySet<string> = new Set([
  'reasoning',
  'developer',
  ...PARAMETER_NAMES.filter((name) => {
    const { cost } = PARAMETER_TABLE[name]
    return cost !== 'units' && cost.where === 'listed' && name !== PRICED
  }),
])

/** Health of every endpoint as this node sees it, with the parameters that it refused today and still takes. */
function endpointHealth(ports: AdminPorts): AdminAnswer<'GET /admin/v1/endpoints/health'> {
  const data = [...ports.catalog.current().models.values()].flatMap((model) =>
    model.endpoints.map((endpoint) => {
      const report = ports.health.report(endpoint.id)
      return {
        model: model.id,
        provider: endpoint.provider.slug,
        endpoint: endpoint.id,
        state: report.unhealthy ? ('cooling_down' as const) : ('healthy' as const),
        error_rate_30m: report.uptime30m === null ? null : Math.round((100 - report.uptime30m) * 10) / 1_000,
        ttft_ms_30m: report.latency30m,
        throughput_30m: report.throughput30m,
        refused_today: report.refused
          .filter(({ parameter }) => takes(endpoint, parameter))
          .map((refused) => ({ ...refused, others: othersOf(ports, model, endpoint, refused.parameter) })),
      }
    }),
  )
  return { data, total: data.length }
}

function takes({ supportedParameters: listed }: Endpoint, parameter: string): boolean {
  return listed === null || parameter === PRICED || alikeOf(parameter).some((name) => listed.includes(name))
}

function alikeOf(parameter: string): readonly string[] {
  return ALIKE.find((names) => names.includes(parameter)) ?? [parameter]
}

/**
 * The endpoint's list of parameters, or the list of what it is sent, without the parameter; null = removing it would
 * not help.
 */
function othersOf(
  ports: AdminPorts,
  { type }: Model,
  { provider, supportedParameters: listed }: Endpoint,
  parameter: string,
): readonly string[] | null {
  // Without the parameter, other kinds of requests would get another picture or voice, and no header would say so.
  if (type !== 'chat') return null
  const taken = listed ?? ports.parametersOf(provider.adapter, type).filter((name) => !LISTED.has(name))
  const alike = alikeOf(parameter)
  const others = taken.filter((name) => !alike.includes(name))
  const isCap = CAPS.includes(parameter)
  const helps = others.length < taken.length && parameter !== PRICED
  return helps && (!isCap || CAPS.some((cap) => others.includes(cap))) ? others : null
}

const USAGE_DAYS = 30

/** Usage, health, events and administrators. */
export function reportAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/usage', (call) => usage(ports, call)),
    adminRoute('GET /admin/v1/accounts/:id/usage', async (call) => {
      const { id: accountId } = await accountNamed(ports, param(call, 'id'))
      return accountUsage(ports, { call, accountId })
    }),
    adminRoute('GET /admin/v1/endpoints/health', async () => endpointHealth(ports)),
    listRoute(ports, 'GET /admin/v1/events', async ({ query }, range) => {
      const order = choiceParameter(query, 'sort', EventSort) ?? undefined
      return listBody(await ports.store.events.list(range, eventFilter(query), order), wireEvent)
    }),
    adminRoute('GET /admin/v1/overview', () => overview(ports)),
    adminRoute('GET /admin/v1/warnings', async () => ({ data: await warnings(ports) })),
    adminRoute('POST /admin/v1/administrators', (call, read) => invite(ports, call, read())),
    adminRoute('POST /admin/v1/kek/rotate', (call) => rotateKek(ports, call)),
  ]
}

async function rotateKek(ports: AdminPorts, call: AdminCall): Promise<AdminAnswer<'POST /admin/v1/kek/rotate'>> {
  const body = { rewrapped: await ports.rewrap() }
  await recordChange(ports, call, 'kek.rotate', 'kek', null, body)
  return body
}

async function usage(ports: AdminPorts, call: AdminCall): Promise<AdminAnswer<'GET /admin/v1/usage'>> {
  const groupBy = choiceParameter(call.query, 'group_by', UsageGroup) ?? 'model'
  const { timezone } = ports.catalog.current().settings
  const toMs = timeParameter(call.query, 'to') ?? ports.clock.now() + DAY_MS
  const fromMs = timeParameter(call.query, 'from') ?? toMs - USAGE_DAYS * DAY_MS
  const accountId = call.query.get('account')
  const [fromDay, toDay] = [periodStarts(fromMs, timezone).day, periodStarts(toMs, timezone).day]
  const rows =
    groupBy === 'end_user'
      ? await endUsers(ports, accountId, endUserRange(fromDay, dayAfter(toDay, -1), timezone))
      : await ports.store.generations.usage({ groupBy, fromDay, toDay, accountId })
  const data = rows.map((row) => ({
    [groupBy]: row.group,
    ...usageSums(row),
  }))
  return { data, total: data.length }
}

async function endUsers(
  ports: AdminPorts,
  accountId: string | null,
  range: EndUserRange,
): Promise<readonly UsageRow[]> {
  if (accountId === null) throw fieldError('account', 'required')
  const days = withinMost('end_user', await ports.store.generations.endUserDays(accountId, range))
  return [...Map.groupBy(days, ({ group }) => group)].map(([group, rows]) => ({
    ...rows.reduce(added, NOTHING),
    group,
  }))
}

function wireEvent({ atMs, before, after, ...event }: EventRecord): AuditEvent {
  return {
    ...event,
    // The store writes no other action.
    action: event.action as EventAction,
    at: isoTime(atMs),
    before: before === null ? null : JSON.parse(before),
    after: after === null ? null : JSON.parse(after),
  }
}

function eventFilter(query: URLSearchParams): EventFilter {
  const text = (name: string): string | null => query.get(name) || null
  return { ...given({ actor: text('actor'), action: text('action'), object: text('object') }), ...timeRange(query) }
}

/** Fixed rates are never fetched, so no fetch can fail. */
async function warnings({ store, catalog }: AdminPorts): Promise<readonly OperatorWarning[]> {
  const trouble = catalog.ratesSource() === 'cbr' ? await currentRateTrouble(store.events) : null
  if (trouble === null) return []
  const { sinceMs, ...told } = trouble
  return [{ ...told, since: isoTime(sinceMs) }]
}

async function invite(
  ports: AdminPorts,
  call: AdminCall,
  { email, role = 'owner' }: BodyOf<AdminApi['POST /admin/v1/administrators']>,
): Promise<AdminAnswer<'POST /admin/v1/administrators'>> {
  refuseBeyondOwn(ports, call, ROLE_SCOPES[role])
  refuseLonger(ports, call, null)
  refuseOwnLink(ports, call, readEmail(email))
  const { id, email: kept, token } = await ports.links.invite(email, role)
  await recordChange(ports, call, 'administrator.create', id, null, { email: kept, role })
  const person = { id, email: kept, language: null }
  return await handedLink(ports, call, person, { kind: 'invitation', token })
}

const DAYS = 30
const COVERED_DAYS = 3
const REFUSED_MOST = 10

/** The operator's first page, beside the reports. */
async function overview({ store, clock, periods }: AdminPorts): Promise<Overview> {
  const { recent, causes, lowBalances, ...money } = await store.overview.read({
    sinceMs: clock.now() - DAY_MS,
    fromDay: dayAfter(periods().day, 1 - DAYS),
    days: DAYS,
    coveredDays: COVERED_DAYS,
  })
  const refused = await store.refusals.sums(null, clock.now() - DAY_MS, REFUSED_MOST)
  const names = await store.accounts.names(new Set(refused.map(({ newest }) => newest.accountId)))
  return {
    recent: {
      from: isoTime(recent.fromMs),
      requests: recent.requests,
      errors: recent.errors,
      flagged: recent.flagged,
      cache_saved: rubles(recent.cacheSavedMicro),
      ttft_ms: recent.ttft,
    },
    errors: causes.map(({ provider, errorType, requests }) => ({
      provider: provider === '' ? null : provider,
      // The store writes no other type.
      error_type: errorType === '' ? null : (errorType as ErrorType),
      requests,
    })),
    low_balances: lowBalances.map(({ id, name, availableMicro, spentMicro }) => ({
      id,
      name,
      available: rubles(availableMicro),
      spent: rubles(spentMicro),
    })),
    refused: refused.map(({ times, newest }) => ({ times, newest: operatorRefusal(newest, names) })),
    locked: { accounts: money.lockedAccounts, amount: rubles(money.lockedMicro) },
    pending_payments: { payments: money.pendingPayments, amount: rubles(money.pendingMicro) },
  }
}

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
function usageSums(row: UsageRow): UsageSums {
  return wire(UsageSums, row, { margin: rubles(row.revenueMicro - row.providerCostMicro - row.insuredMicro) })
}

function marginPercent(row: UsageRow): number | null {
  return percent(Number(row.revenueMicro - row.providerCostMicro - row.insuredMicro), Number(row.revenueMicro))
}
