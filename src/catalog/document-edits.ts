import { withBundled, withEntries, withoutEntry } from './bundled.ts'
import { keepCredentials } from './credentials.ts'
import type { CatalogDocument, ModelEntry, ProviderEntry, SettingsEntry } from './document.ts'
import type { Fault } from './source-tree.ts'
import { ownValue } from '../base/own-value.ts'

/** A result for the caller, and the changed document. In an edit, `base` is the bundled part under it. */
type Edited<T> = readonly [T, CatalogDocument]

/** `same`: the entry has not changed anything. */
export type PutOutcome = 'created' | 'changed' | 'same'

/** Gets the catalogue, as it is shown, before a change; throws to refuse the change. */
export type CatalogGuard = (shown: CatalogDocument) => void
/** The same, and also gets the catalogue after the change. */
export type CatalogCheck = (before: CatalogDocument, after: CatalogDocument) => void

export type Edit<T> = (document: CatalogDocument, base: CatalogDocument) => Edited<T>

export function withProvider(
  document: CatalogDocument,
  base: CatalogDocument,
  slug: string,
  entry: ProviderEntry,
): Edited<'created' | 'changed'> {
  const known = ownValue(withBundled(document, base).providers, slug) !== undefined
  const changed = known ? document : withEntries(document, [slug])
  return [known ? 'changed' : 'created', { ...changed, providers: { ...changed.providers, [slug]: entry } }]
}

/**
 * The provider with the models that it serves from now on: a model that others serve too gets this provider as one more
 * endpoint. `bundled`: the bundled models of the provider; those that it serves are sold again if they were left out.
 */
export function withConnection(
  document: CatalogDocument,
  base: CatalogDocument,
  slug: string,
  entry: ProviderEntry,
  models: readonly ModelEntry[],
  bundled: readonly ModelEntry[],
): Edited<'created' | 'changed'> {
  const served = withEntries(document, entry.bundled_models ?? bundled.map(({ id }) => id))
  const [outcome, connected] = withProvider(served, base, slug, entry)
  const known = new Map(withBundled(connected, base).models.map((model) => [model.id, model]))
  const joined = models.map((model) => {
    const before = known.get(model.id)
    if (before === undefined) return model
    const others = before.endpoints.filter(({ provider }) => provider !== slug)
    return { ...before, endpoints: [...others, ...model.endpoints] }
  })
  const ids = new Set(joined.map(({ id }) => id))
  return [outcome, { ...connected, models: [...connected.models.filter(({ id }) => !ids.has(id)), ...joined] }]
}

/** false = no such provider. */
export function withoutProvider(document: CatalogDocument, base: CatalogDocument, slug: string): Edited<boolean> {
  const { [slug]: _, ...providers } = document.providers
  const rest = withoutEntry({ ...document, providers }, { provider: slug }, base)
  return [ownValue(document.providers, slug) !== undefined || rest.bundled_except !== document.bundled_except, rest]
}

export function withModel(
  document: CatalogDocument,
  base: CatalogDocument,
  entry: ModelEntry,
): Edited<'created' | 'changed'> {
  const known = withBundled(document, base).models.some(({ id }) => id === entry.id)
  return [
    known ? 'changed' : 'created',
    {
      ...document,
      // An existing entry keeps its place, so that the same entry again makes no difference.
      models: document.models.some(({ id }) => id === entry.id)
        ? document.models.map((model) => (model.id === entry.id ? entry : model))
        : [...document.models, entry],
    },
  ]
}

/** false = no such model. */
export function withoutModel(document: CatalogDocument, base: CatalogDocument, id: string): Edited<boolean> {
  const models = document.models.filter((model) => model.id !== id)
  const rest = withoutEntry({ ...document, models }, { model: id }, base)
  return [models.length < document.models.length || rest.bundled_except !== document.bundled_except, rest]
}

/** Changes the given settings. A rate that a person sets ends the feed, unless the feed is named again. */
export function withSettings(document: CatalogDocument, settings: SettingsEntry): Edited<undefined> {
  const { rates_source: _feed, ...fixed } = document.settings
  return [
    undefined,
    { ...document, settings: { ...(settings.rates === undefined ? document.settings : fixed), ...settings } },
  ]
}

/**
 * `document` with the parts that it inherits from its predecessor: dates of first use, credentials, the maintenance
 * notice. `before` includes the bundled part.
 */
export function successorOf(
  before: CatalogDocument,
  document: CatalogDocument,
  now: string,
  problems: Fault[],
): CatalogDocument {
  const created = new Map(before.models.map((model) => [model.id, model.created]))
  const models = document.models.map((model) =>
    model.created === undefined ? { ...model, created: created.get(model.id) ?? now } : model,
  )
  const maintenance = before.settings.maintenance
  const settings =
    maintenance === undefined || document.settings.maintenance !== undefined
      ? document.settings
      : { ...document.settings, maintenance }
  return keepCredentials(before, { ...document, settings, models }, problems)
}
