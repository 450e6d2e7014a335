import type { Endpoint, Model, Snapshot } from '../../catalog/catalog.ts'
import { pricesFor, snapshotFor } from '../../catalog/customer-prices.ts'
import { cheapestEndpoint, priceTexts, shownConditions } from '../../catalog/shown-prices.ts'
import { ApiError } from '../../base/errors.ts'
import { ModelRow, type ModelEndpoint, type Prices } from './model-contract.ts'
import type { CabinetPorts, Visit } from './ports.ts'
import { accountOf } from './summary.ts'
import { isoDay, isoTime } from '../../base/time.ts'
import { wire } from '../../base/wire-route.ts'

export async function modelList(
  ports: CabinetPorts,
  { accountId }: Visit,
): Promise<{ readonly data: readonly ModelRow[] }> {
  const { allowedModels } = await accountOf(ports, accountId)
  const { models, markup } = await ownCatalog(ports, accountId)
  const listed = [...models.values()].filter(({ hidden }) => !hidden)
  return { data: listed.map((model) => modelRow(ports, model, allowedModels, markup)) }
}

export async function oneModel(ports: CabinetPorts, { call, accountId }: Visit): Promise<ModelRow> {
  const id = call.params['id'] ?? ''
  const { models, aliases, markup } = await ownCatalog(ports, accountId)
  const model = models.get(id) ?? models.get(aliases.get(id) ?? '')
  if (model === undefined) throw new ApiError('model_record_not_found', `Model '${id.slice(0, 200)}' not found`)
  return modelRow(ports, model, (await accountOf(ports, accountId)).allowedModels, markup)
}

/** What is sold, at the account's prices. */
async function ownCatalog(ports: CabinetPorts, accountId: string): Promise<Snapshot> {
  const markup = (await ports.store.accounts.rules(accountId))?.markup
  return snapshotFor(ports.catalog.current(), markup ?? undefined)
}

function modelRow(
  ports: CabinetPorts,
  model: Model,
  allowed: readonly string[] | null,
  markup: string | undefined,
): ModelRow {
  const cheapest = cheapestEndpoint(model.endpoints)
  return wire(ModelRow, model, {
    description: model.description === '' ? null : model.description,
    guessed: model.guessed ?? [],
    created: isoDay(model.created * 1_000),
    prices: cheapest === null ? {} : pricesOf(model, cheapest),
    conditions: cheapest === null ? [] : conditionsOf(cheapest),
    coming: comingPrices(ports, model, markup),
    allowed: allowed === null || allowed.includes(model.id),
    voices: model.supportedVoices ?? [],
    formats: model.supportedFormats ?? [],
    sizes: model.supportedSizes ?? [],
    durations: model.supportedDurations ?? [],
    endpoints: model.endpoints.map((endpoint) => endpointRow(ports, model, endpoint)),
  })
}

/** The first change that waits for the model's prices. */
function comingPrices({ catalog }: CabinetPorts, { id }: Model, markup: string | undefined): ModelRow['coming'] {
  const step = catalog.comingModels().find(({ changed }) => changed.has(id))
  const model = step?.after.get(id)
  const cheapest = model === undefined ? null : cheapestEndpoint(model.endpoints)
  if (step === undefined || model === undefined || cheapest === null) return null
  const own = pricesFor(cheapest, markup)
  return { from: isoTime(step.change.fromMs), prices: pricesOf(model, own), conditions: conditionsOf(own) }
}

function endpointRow(ports: CabinetPorts, model: Model, endpoint: Endpoint): ModelEndpoint {
  const report = ports.health.report(endpoint.id)
  return {
    id: endpoint.id,
    provider: endpoint.provider.slug,
    provider_name: endpoint.provider.name,
    state: report.unhealthy ? 'cooling_down' : 'healthy',
    prices: pricesOf(model, endpoint),
    conditions: conditionsOf(endpoint),
    context_length: endpoint.contextLength ?? model.contextLength,
    max_completion_tokens: endpoint.maxCompletionTokens ?? model.maxCompletionTokens,
    supported_parameters: endpoint.supportedParameters ?? ports.parametersOf(endpoint.provider.adapter, model.type),
    uptime_5m: report.uptime5m,
    uptime_30m: report.uptime30m,
    uptime_1d: report.uptime1d,
    ttft_ms: report.latency30m,
    throughput: report.throughput30m,
  }
}

function pricesOf(model: Model, endpoint: Pick<Endpoint, 'sell'>): Prices {
  return priceTexts(model.type, endpoint.sell)
}

/** Conditions of the customer's price; those of the provider's price are not shown to customers. */
function conditionsOf({ sell, conditions }: Endpoint): ModelRow['conditions'] {
  const own = conditions === undefined ? {} : { conditions: { sell: conditions.sell, buy: [] } }
  return shownConditions({ sell, buy: sell, ...own }).map(({ condition, lines }) => ({
    condition,
    prices: Object.fromEntries(lines.map(({ key, text }) => [key, text])),
  }))
}
