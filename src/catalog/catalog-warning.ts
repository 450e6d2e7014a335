import type { PriceKey } from '../tables/meter-table.ts'

/**
 * Conditions of a catalogue that are allowed but may be mistakes, by name, with the figures of their texts. The console
 * has a text for each in both languages.
 */
export interface CatalogWarnings {
  readonly bundled_unrated: { readonly count: number; readonly providers: string; readonly currency: string }
  readonly bundled_waiting: { readonly count: number; readonly providers: string; readonly currency: string }
  readonly models_waiting: { readonly count: number; readonly model: string; readonly currency: string }
  /** `loss`: percent of the provider's price. */
  readonly markup_below: { readonly markup: string; readonly loss: string }
  readonly markup_below_of: { readonly name: string; readonly markup: string; readonly loss: string }
  readonly pictures_unpriced: { readonly model: string; readonly endpoint: string }
  readonly price_untold: { readonly model: string; readonly endpoint: string; readonly parameter: string }
  readonly steps_missing: {
    readonly model: string
    readonly endpoint: string
    readonly above: number
    readonly prompt: string
    readonly currency: string
  }
  readonly names_shared: { readonly count: number; readonly name: string; readonly models: string }
  readonly fallback_unknown: { readonly name: string; readonly model: string }
  readonly sells_below_cost: {
    readonly model: string
    readonly endpoint: string
    readonly key: PriceKey
    readonly sell: string
    readonly cost: string
  }
  readonly sells_below_cost_when: {
    readonly model: string
    readonly endpoint: string
    readonly condition: string
    readonly key: PriceKey
    readonly sell: string
    readonly cost: string
  }
  readonly unroutable: {
    readonly model: string
    readonly endpoint: string
    readonly field: string
    readonly needs: string
  }
}
export type CatalogWarningName = keyof CatalogWarnings

type Named<W extends CatalogWarningName> = {
  readonly warning: W
  readonly params: CatalogWarnings[W]
  readonly message: string
}

/** One warning: `message` says the same in an English sentence. */
export type CatalogWarning = { readonly [W in CatalogWarningName]: Named<W> }[CatalogWarningName]

export function warningOf<W extends CatalogWarningName>(
  warning: W,
  params: CatalogWarnings[W],
  message: string,
): Named<W> {
  return { warning, params, message }
}

/** Warnings of sales at a loss. */
export const LOSSES: ReadonlySet<CatalogWarningName> = new Set([
  'markup_below',
  'markup_below_of',
  'sells_below_cost',
  'sells_below_cost_when',
])

/**
 * Whether a warning is about an entry: a model by its id, or a provider by its slug. Each warning names its entries in
 * these fields and in no other, so that no form filters away one that it does not know.
 */
export function isAbout(
  { params }: CatalogWarning,
  entry: { readonly model: string } | { readonly provider: string },
): boolean {
  const { name, model, models, endpoint }: Partial<Record<'name' | 'model' | 'models' | 'endpoint', string>> =
    params as object
  if ('provider' in entry) return name === entry.provider || endpoint?.startsWith(`${entry.provider}/`) === true
  return name === entry.model || model === entry.model || models?.split(', ').includes(entry.model) === true
}
