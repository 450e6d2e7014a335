import { given } from '../../base/objects.ts'
import type { Principal } from '../../access/principal.ts'
import { decimalText, rubles } from '../../base/money.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { CatalogWarning } from '../../catalog/catalog-warning.ts'
import type { KnownAdapters, Endpoint, Model, Prices, Snapshot } from '../../catalog/catalog.ts'
import { parseDocumentJson, parseModelJson, parseSettingsJson } from '../../catalog/document-reader.ts'
import { type CatalogDocument, EMPTY_DOCUMENT, type ModelEntry, endpointId } from '../../catalog/document.ts'
import { type PriceActor, usedSince } from '../../catalog/held-prices.ts'
import type { PriceChange } from '../../catalog/price-list.ts'
import { alikeModels } from '../../catalog/offered-models.ts'
import { type WireModel, wireDocument, wireModel, wirePrice } from '../../catalog/wire-document.ts'
import type { Route } from '../../http/edge.ts'
import { namedSettings } from '../../tables/settings-table.ts'
import type { PriceChange as WirePriceChange, Settings, Warned, PriceEffect } from './catalog-contract.ts'
import {
  type AdminCall,
  type AdminPorts,
  type AdminReply,
  type TextReply,
  actor,
  adminReply,
  adminRoute,
  notFound,
  param,
  recordChange,
  requireParts,
} from './ports.ts'
import { applied, providerAdminRoutes, refuse, refusePrivate } from './providers.ts'
import { type RecordKind, etagOf, guardOf, recordRoutes, watched } from './records.ts'
import { dayAfter } from '../../base/time.ts'
import { priceText, shownConditions, shownPrices, type ShownPrice } from '../../catalog/shown-prices.ts'
import type { CustomerUsage } from '../../store/log/generation-store.ts'
import { METER_TABLE, type Meter } from '../../tables/meter-table.ts'
import { exactCost, type PriceSheet, TYPICAL_USAGE, type Usage } from '../../tables/meters.ts'
import { percent } from './reports.ts'

const SETTINGS_RECORD = { noun: 'Settings', terms: null }

/** The catalogue, its parts and the live settings. */
export function catalogAdminRoutes(ports: AdminPorts, adapters: KnownAdapters): readonly Route<Principal>[] {
  const context = { adapters, env: {} }
  return [
    adminReply('GET /admin/v1/catalog', async (call) => showCatalog(ports, call)),
    adminRoute('GET /admin/v1/catalog/warnings', async () => ({ data: ports.catalog.notes() })),
    adminRoute('GET /admin/v1/catalog/known', async ({ query }) => {
      const { published: day, models } = ports.catalog.release
      return { day, data: alikeModels(query.get('model') ?? '', models).map(wireModel) }
    }),
    adminRoute('PUT /admin/v1/catalog', async (call) => {
      const { document, problems } = parseDocumentJson(call.json, context)
      refuse(problems)
      for (const [slug, entry] of Object.entries(document.providers)) refusePrivate(ports, slug, entry, context)
      const dryRun = call.query.get('dry_run') === '1'
      const check = (before: CatalogDocument, after: CatalogDocument): void =>
        requireParts(ports, call, 'PUT /admin/v1/catalog', wireDocument(before), wireDocument(after))
      const lines = await applied(() => ports.catalog.applyDocument(document, dryRun, check))
      if (!dryRun && lines.length > 0) await recordChange(ports, call, 'catalog.put', 'catalog', null, lines)
      return {
        applied: !dryRun,
        changes: lines,
        price_version: ports.catalog.current().priceVersion,
        ...warned(ports.catalog.warnings(document)),
      }
    }),
    adminRoute('POST /admin/v1/catalog/update', async (call) => {
      const dryRun = call.query.get('dry_run') === '1'
      const { lines, held, failure } = await applied(() => ports.prices.updateBundle(dryRun, priceActor(ports, call)))
      if (!dryRun && lines.length > 0) await recordChange(ports, call, 'catalog.update', 'catalog', null, lines)
      const { priceVersion } = ports.catalog.current()
      return { applied: !dryRun, changes: lines, price_version: priceVersion, held: held.map(wireChange), failure }
    }),
    ...providerAdminRoutes(ports, context),
    ...recordRoutes(ports, modelKind(ports)),
    adminReply('GET /admin/v1/settings', async () => {
      await ports.catalog.refresh()
      const body = settingsBody(ports)
      return { status: 200, body, headers: { etag: etagOf(SETTINGS_RECORD, body) } }
    }),
    adminReply('PATCH /admin/v1/settings', (call) => patchSettings(ports, call)),
  ]
}

/** The whole catalogue; with `format=yaml` the operator's own part, as `tollgate export` writes it. */
function showCatalog({ catalog }: AdminPorts, call: AdminCall): AdminReply<'GET /admin/v1/catalog'> | TextReply {
  if (call.query.get('format') === 'yaml')
    return { status: 200, body: catalog.exportText(), contentType: 'application/yaml; charset=utf-8' }
  return { status: 200, body: wireDocument(catalog.shown()) }
}

/** Models as records that a client describes. */
function modelKind(ports: AdminPorts): RecordKind<'/admin/v1/models/*id'> {
  const { catalog } = ports
  return {
    path: '/admin/v1/models/*id',
    noun: 'Model',
    event: 'model',
    terms: null,
    show: async (id) => {
      // Another node may have made the model just now.
      await catalog.refresh()
      return modelIn(catalog.shown(), id)
    },
    put: async ({ json }, id, _read, guard) => {
      const entry = modelEntryOf(json, id)
      const seen = watched(guard, (document) => modelIn(document, id))
      const outcome = await applied(() => catalog.putModel(entry, seen.check))
      const after = modelIn(catalog.shown(), id)
      if (after === null) throw new Error(`Model ${id} is not in the catalogue that it was put into.`)
      const once = warned(catalog.warnings({ ...EMPTY_DOCUMENT, models: [entry] }))
      return { id, before: seen.before(), after, changed: outcome !== 'same', once }
    },
    remove: async (_call, id, guard) => {
      const seen = watched(guard, (document) => modelIn(document, id))
      if (!(await applied(() => catalog.deleteModel(id, seen.check)))) return null
      const before = seen.before()
      return before === null ? null : { id, before }
    },
  }
}

/** The path names the id; the body may leave it out. */
function modelEntryOf(given: unknown, id: string): ModelEntry {
  const { entry, problems } = parseModelJson(
    given !== null && typeof given === 'object' && !('id' in given) ? { ...given, id } : given,
  )
  refuse(problems)
  if (entry.id !== id)
    throw fieldError('id', 'other_id', { path: id }, `'${entry.id}' is not the model of the path, '${id}'`)
  return entry
}

/** Accepted values that may be mistakes; absent if there are none. */
function warned(warnings: readonly CatalogWarning[]): Warned {
  return warnings.length === 0 ? {} : { warnings }
}

function modelIn({ models }: CatalogDocument, id: string): WireModel | null {
  const entry = models.find((model) => model.id === id)
  return entry === undefined ? null : wireModel(entry)
}

function settingsBody({ catalog, signupDefault }: AdminPorts): Settings {
  const { settings } = catalog.current()
  const source = catalog.ratesSource()
  const { signup, ...named } = namedSettings(settings)
  return {
    maintenance:
      settings.maintenance === null
        ? null
        : { message: settings.maintenance.message, retry_after: settings.maintenance.retryAfter },
    timezone: settings.timezone,
    rates: {
      ...(source === null ? {} : { source }),
      ...Object.fromEntries(
        Object.entries(settings.rates)
          .filter(([currency]) => currency !== 'RUB')
          .map(([currency, rate]) => [currency, Number(decimalText(rate))]),
      ),
    },
    markup: Number(decimalText(settings.markup)),
    model_fallbacks: catalog.shown().settings.model_fallbacks ?? {},
    ...named,
    signup: signup ?? signupDefault,
  }
}

async function patchSettings(ports: AdminPorts, call: AdminCall): Promise<AdminReply<'PATCH /admin/v1/settings'>> {
  const { settings, problems } = parseSettingsJson(call.json)
  refuse(problems)
  const before = settingsBody(ports)
  // Only the given rates change: models in other currencies must not lose theirs.
  const rates =
    settings.rates === undefined ? {} : { rates: { ...ports.catalog.shown().settings.rates, ...settings.rates } }
  const guard = guardOf(call, SETTINGS_RECORD)
  const check = (): void => guard(settingsBody(ports))
  const changed = await applied(() => ports.catalog.patchSettings({ ...settings, ...rates }, check))
  const after = settingsBody(ports)
  if (changed) await recordChange(ports, call, 'settings.update', 'settings', before, after)
  const headers = { etag: etagOf(SETTINGS_RECORD, after) }
  return {
    status: 200,
    headers,
    body: { ...after, ...warned(ports.catalog.warnings({ ...EMPTY_DOCUMENT, settings })) },
  }
}

type WireRow = NonNullable<WirePriceChange['row']>

const ACCOUNTS_MAX = 1_000

/**
 * Prices that follow the lists of providers: the changes that wait, the customers whom they concern, and the operator's
 * decision.
 */
export function priceAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const by = (call: AdminCall): PriceActor => priceActor(ports, call)
  const decide = async (call: AdminCall, isApproved: boolean): Promise<WirePriceChange> => {
    const id = param(call, 'id')
    const { decided, overtaken } = await applied(() => ports.prices.book.decide(new Set([id]), isApproved, by(call)))
    if (overtaken.length > 0) throw reasonError('price_overtaken')
    const [change] = decided
    if (change === undefined) throw notFound('Price change', id)
    return wireChange(change)
  }
  return [
    adminRoute('GET /admin/v1/price-changes', async ({ query }) => {
      const held = await ports.prices.book.held()
      if (held.length === 0 || query.get('effects') === 'false') return { data: held.map(wireChange) }
      const effectOf = await effectsOf(ports, held)
      return { data: held.map((change) => ({ ...wireChange(change), effect: effectOf(change) })) }
    }),
    adminRoute('POST /admin/v1/price-changes/decide', async (call, read) => {
      const { ids, decision } = read()
      const { book } = ports.prices
      const { decided, overtaken } = await applied(() => book.decide(new Set(ids), decision === 'approve', by(call)))
      return { decided: decided.length, overtaken: overtaken.map(wireChange) }
    }),
    adminRoute('POST /admin/v1/price-changes/fetch', async (call) => {
      const rounds = await ports.prices.fetchLists(by(call))
      const data = rounds.map(({ provider, applied: made, held, failure }) => ({
        provider,
        applied: made.map(wireChange),
        held: held.map(wireChange),
        failure,
      }))
      return { data }
    }),
    adminRoute('GET /admin/v1/price-changes/accounts', async (call) => {
      const model = call.query.get('model')
      const models = model === null ? (await ports.prices.book.held()).map((change) => change.model) : [model]
      const { total, data } = await ports.store.generations.usersOf(models, usedSince(ports.clock.now()), ACCOUNTS_MAX)
      return {
        total,
        data: data.map(({ accountId, requests, revenueMicro }) => ({
          account: accountId,
          requests,
          revenue: rubles(revenueMicro),
        })),
      }
    }),
    adminRoute('POST /admin/v1/price-changes/:id/approve', (call) => decide(call, true)),
    adminRoute('POST /admin/v1/price-changes/:id/reject', (call) => decide(call, false)),
  ]
}

export function priceActor(ports: AdminPorts, call: AdminCall): PriceActor {
  return { actor: actor(ports, call), ip: call.clientIp }
}

export function wireChange({ before, after, row, ...named }: PriceChange): WirePriceChange {
  const { isListed: _, ...rest } = named
  return {
    ...rest,
    before: before === null ? null : wirePrice(before),
    after: wirePrice(after),
    ...(row === undefined ? {} : { row: wireRow(row) }),
  }
}

function wireRow({
  name,
  type,
  context_length,
  max_completion_tokens,
  guessed,
  input_modalities,
}: ModelEntry): WireRow {
  return {
    type,
    ...given({
      name: name ?? null,
      context_length: context_length ?? null,
      max_completion_tokens: max_completion_tokens ?? null,
      guessed: guessed ?? null,
      input_modalities: input_modalities ?? null,
    }),
  }
}

const WEEK_DAYS = 7
const CUSTOMERS_MAX = 5

/** What each of the changes that wait would do if a person approved it. */
async function effectsOf(
  { catalog, store, periods }: AdminPorts,
  held: readonly PriceChange[],
): Promise<(change: PriceChange) => PriceEffect> {
  const [now, next] = [catalog.current().models, catalog.preview(held)]
  const models = [...new Set(held.filter(({ row }) => row === undefined).map(({ model }) => model))]
  const used = await store.generations.customersOf(models, dayAfter(periods().day, 1 - WEEK_DAYS))
  const byRoute = Map.groupBy(used, ({ model, provider }) => `${model} ${provider}`)
  const names = await store.accounts.names(new Set(used.map(({ group }) => group)))
  return (change) =>
    effectOf(
      change,
      {
        now: wayOf(now, change),
        next: wayOf(next, change),
        used: change.row === undefined ? (byRoute.get(`${change.model} ${change.provider}`) ?? []) : [],
      },
      names,
    )
}

interface Way {
  readonly model: Model
  readonly endpoint: Endpoint | undefined
}

function wayOf(models: Snapshot['models'], { model: id, provider, endpoint }: PriceChange): Way | undefined {
  const model = models.get(id)
  const name = endpointId({ provider, model: endpoint })
  return model && { model, endpoint: model.endpoints.find((one) => one.id === name) }
}

interface Routes {
  readonly now: Way | undefined
  readonly next: Way | undefined
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
function linesOf(now: Way | undefined, then: Way | undefined): PriceEffect['lines'] {
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
