import { compare, parseDecimal } from '../base/money.ts'
import { warningOf, type CatalogWarning } from './catalog-warning.ts'
import { endpointId, type CatalogDocument, type EndpointEntry, type ModelEntry, type TieredPrice } from './document.ts'

/**
 * Rows with one price for a model whose known price has a step: its long prompts would be sold below their cost. A row
 * whose window ends at the step, or whose price is that above it, is right. `known`: models with known prices.
 */
export function missingSteps(
  { models }: Pick<CatalogDocument, 'models'>,
  known: readonly ModelEntry[],
): readonly CatalogWarning[] {
  const stepped = known.flatMap(({ id, endpoints }) =>
    endpoints.flatMap((endpoint) => (endpoint.price.tiers === undefined ? [] : [{ id, endpoint }])),
  )
  const byId = Map.groupBy(stepped, ({ id }) => id)
  const byName = Map.groupBy(stepped, ({ endpoint }) => endpoint.model)
  return models.flatMap((model) =>
    model.endpoints.flatMap((endpoint) => {
      const like = [...(byName.get(endpoint.model) ?? []), ...(byId.get(model.id) ?? [])]
      const found = like.find((one) => one.endpoint.provider === endpoint.provider) ?? like[0]
      return found === undefined ? [] : warningsOf(model, endpoint, found.endpoint)
    }),
  )
}

function warningsOf(model: ModelEntry, endpoint: EndpointEntry, known: EndpointEntry): readonly CatalogWarning[] {
  const { price } = endpoint
  const context = endpoint.context_length ?? model.context_length ?? Infinity
  const step = known.price.tiers?.find(({ above }) => above < context)
  if (endpoint.force === true || step === undefined || promptAbove(price, step.above) !== price.prompt) return []
  const [own, listed] = [price.prompt, step.prompt].map((text) =>
    typeof text === 'string' ? parseDecimal(text) : null,
  )
  if (own === null || own === undefined || listed === null || listed === undefined) return []
  if (price.currency === known.price.currency && compare(own, listed) >= 0) return []
  const params = {
    model: model.id,
    endpoint: endpointId(endpoint),
    above: step.above,
    prompt: String(step.prompt),
    currency: known.price.currency,
  }
  return [
    warningOf(
      'steps_missing',
      params,
      `${params.model} at ${params.endpoint}: one price for every length, but ${endpointId(known)} is known to cost ${params.prompt} ${params.currency} for a million input tokens in a request with more than ${params.above} of them: add price.tiers, or set context_length to ${params.above}`,
    ),
  ]
}

/** The `prompt` price of a request with more input tokens than `tokens`. */
function promptAbove({ prompt, tiers = [] }: TieredPrice, tokens: number): TieredPrice['prompt'] {
  return tiers.findLast(({ above, prompt: other }) => above <= tokens && other !== undefined)?.prompt ?? prompt
}
