import { ONE, parseDecimal, type Decimal } from '../money.ts'
import type { FieldReader } from './field-reader.ts'

/** The field of the service, of a provider and of a model. */
export function readMarkup(reader: FieldReader): string | null {
  const markup = reader.decimal('markup')
  if (markup === '0') reader.problem('markup', 'above_zero', {}, 'must be above 0: it would give everything away')
  return markup
}

interface Marked {
  readonly markup?: string | undefined
}

/** What the provider's price × rate is multiplied with: the nearest of the model's, its provider's and the service's. */
export function markupOf(model: Marked, provider: Marked | undefined, settings: Marked): Decimal {
  const text = model.markup ?? provider?.markup ?? settings.markup
  return (text === undefined ? null : parseDecimal(text)) ?? ONE
}
