import type { Principal } from '../../access/principal.ts'
import { fieldError } from '../../base/refusals.ts'
import type { Static } from '../../base/schema.ts'
import { DAY_MS, isoTime, MINUTE_MS } from '../../base/time.ts'
import { type ComingPrices, comingModel, type ComingStep, withOne, withoutOne } from '../../catalog/coming-prices.ts'
import { parseModelJson, parseSettingsJson } from '../../catalog/document-reader.ts'
import { usedSince } from '../../catalog/held-prices.ts'
import { cheapestEndpoint, priceTexts } from '../../catalog/shown-prices.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Route } from '../../http/edge.ts'
import { COMING_MODELS_MAX, type ComingChange } from './group-contract.ts'
import { adminRoute, type AdminPorts, notFound, param, recordChange } from './ports.ts'
import { applied, refuse } from './providers.ts'

const MODELS_SHOWN = 100
/** How far ahead a change is: every node has heard of it within the least. */
const AHEAD_MS = { least: MINUTE_MS, below: 366 * DAY_MS }

/** Prices that count from a later time on. */
export function comingAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  const { catalog } = ports
  return [
    adminRoute('GET /admin/v1/coming-prices', async () => {
      await catalog.refresh()
      const data: Static<typeof ComingChange>[] = []
      for (const change of catalog.coming()) data.push(await shown(ports, change))
      return { data }
    }),
    adminRoute('POST /admin/v1/coming-prices', async (call) => {
      const { from, ...given } = recordOf('body', call.json) as Given & { readonly from?: unknown }
      const fromMs = typeof from === 'string' ? Date.parse(from) : NaN
      const aheadMs = fromMs - ports.clock.now()
      if (!(aheadMs >= AHEAD_MS.least && aheadMs < AHEAD_MS.below)) throw fieldError('from', 'time_ahead')
      const change = { id: `cpr_${ports.ids.letters(16)}`, fromMs, ...pricesOf(given) }
      const lines = await applied(() => catalog.changeComing((all, linesOf) => withOne(all, change, linesOf(change))))
      if (lines.length === 0) throw fieldError('models', 'same_prices')
      await recordChange(ports, call, 'coming_prices.create', change.id, null, {
        from: isoTime(fromMs),
        changes: lines,
      })
      return shown(ports, change)
    }),
    adminRoute('DELETE /admin/v1/coming-prices/:id', async (call) => {
      const id = param(call, 'id')
      const removed = await catalog.changeComing((all) => withoutOne(all, id))
      if (removed === null) throw notFound('Change of prices', id)
      await recordChange(ports, call, 'coming_prices.delete', id, { from: isoTime(removed.fromMs) }, null)
      return { id, deleted: true }
    }),
  ]
}

type Given = Readonly<Partial<Record<'markup' | 'providers' | 'models', unknown>>>

function pricesOf({ markup, providers, models, ...unknown }: Given): Omit<ComingPrices, 'id' | 'fromMs'> {
  const given = Object.entries(recordOf('providers', providers ?? {})).map(
    ([slug, factor]) => [slug, markupOf(factor)] as const,
  )
  const [other] = Object.keys(unknown)
  if (other !== undefined) throw fieldError(other, 'unknown_field', { known: 'from, markup, providers, models' })
  const listed: unknown = models ?? []
  if (!Array.isArray(listed)) throw fieldError('models', 'object')
  if (listed.length > COMING_MODELS_MAX) throw fieldError('models', 'items_most', { most: COMING_MODELS_MAX })
  const entries = listed.map((model) => {
    const { entry, problems } = parseModelJson(model)
    refuse(problems)
    return comingModel(entry)
  })
  const ofService = markupOf(markup)
  return {
    ...(ofService === undefined ? {} : { markup: ofService }),
    providers: Object.fromEntries(given.flatMap(([slug, factor]) => (factor === undefined ? [] : [[slug, factor]]))),
    models: entries,
  }
}

function recordOf(field: string, given: unknown): object {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw fieldError(field, 'object')
  return given
}

function markupOf(markup: unknown): string | undefined {
  const { settings, problems } = parseSettingsJson({ markup: markup ?? null })
  refuse(problems)
  return settings.markup
}

async function shown(ports: AdminPorts, change: ComingPrices): Promise<Static<typeof ComingChange>> {
  const step = ports.catalog.comingModels().find((one) => one.change.id === change.id)
  const ids = [...(step?.changed ?? [])]
  const { total } = await ports.store.generations.usersOf(ids, usedSince(ports.clock.now()), 1)
  return {
    id: change.id,
    from: isoTime(change.fromMs),
    failure: change.failure ?? null,
    accounts: total,
    model_count: ids.length,
    models: step === undefined ? [] : ids.slice(0, MODELS_SHOWN).flatMap((id) => modelOf(step, id)),
  }
}

function modelOf({ before, after }: ComingStep, id: string): Static<typeof ComingChange>['models'] {
  const [now, then] = [before.get(id), after.get(id)]
  return now === undefined || then === undefined
    ? []
    : [{ id, name: now.name, before: listedPrices(now), after: listedPrices(then) }]
}

function listedPrices({ type, endpoints }: Model): Readonly<Record<string, string>> {
  const cheapest = cheapestEndpoint(endpoints)
  return cheapest === null ? {} : priceTexts(type, cheapest.sell)
}
