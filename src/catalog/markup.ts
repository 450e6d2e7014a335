import { ONE, parseDecimal, type Decimal } from '../base/money.ts'
import { field, judged } from './entry-fields.ts'

/** The same field is in the service's settings, in a provider and in a model. */
export const MARKUP = judged(field.above0, (markup, reader, key) => {
  if (markup === '0') reader.problem(key, 'above_zero', {}, 'must be above 0: it would give everything away')
})

interface Marked {
  readonly markup?: string | undefined
}

/** The nearest markup of the catalogue: the model's, else its provider's, else the service's. */
export function markupRule(
  model: Marked,
  provider: Marked | undefined,
  settings: Marked,
): { readonly rule: 'model' | 'provider' | 'service' | 'none'; readonly markup: string | null } {
  if (model.markup !== undefined) return { rule: 'model', markup: model.markup }
  if (provider?.markup !== undefined) return { rule: 'provider', markup: provider.markup }
  return settings.markup === undefined ? { rule: 'none', markup: null } : { rule: 'service', markup: settings.markup }
}

/** The factor of the provider's price × rate. */
export function markupOf(model: Marked, provider: Marked | undefined, settings: Marked): Decimal {
  const { markup } = markupRule(model, provider, settings)
  return (markup === null ? null : parseDecimal(markup)) ?? ONE
}
