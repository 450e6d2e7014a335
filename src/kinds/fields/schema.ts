import { either, flag, list, maybe, number, object, oneOf, only, rub, text, whole } from '../../base/schema.ts'

const SLUGS = list(text(), 'Slugs of providers.', { maxItems: 100 })
const PRICE = either(
  number('', { minimum: 0, exclusiveMaximum: 1e21 }),
  text('A decimal.', { pattern: '^\\d{1,40}(\\.\\d{1,40})?$' }),
)
const SORT = oneOf(['price', 'throughput', 'latency'])

/** `provider` of a paid body (wire.md 8). */
export const ProviderPreferences = object(
  {
    order: maybe(SLUGS),
    ignore: maybe(SLUGS),
    only: maybe(SLUGS),
    sort: maybe(either(SORT, object({ by: SORT }))),
    allow_fallbacks: maybe(flag()),
    require_parameters: maybe(flag()),
    max_price: maybe(
      object({ prompt: maybe(PRICE), completion: maybe(PRICE), request: maybe(PRICE), image: maybe(PRICE) }),
    ),
  },
  'Who may serve the request.',
)

/** Fields that every paid body accepts. `session_id` is a label: a useless one is dropped. */
export const ROUTED = { provider: maybe(ProviderPreferences) } as const
export const MODEL = text('`vendor/name`.', { minLength: 1 })
export const OPTIONAL_MODEL = maybe(text("The account's default model if absent."))
export const MODELS = maybe(
  list(text('', { minLength: 1 }), 'Tried in order if the one before fails.', { maxItems: 5 }),
)
export const USER = maybe(text("A label of the client's own user."))
/** No streaming here: `true` is refused. */
export const NO_STREAM = maybe(only(false))

/** The cost of a paid answer. */
export const COST = { cost: rub('What was charged.'), currency: only('RUB') } as const

/** Token counts of an answer in chat's form. */
export const TokenUsage = object({
  prompt_tokens: whole(),
  completion_tokens: whole(),
  total_tokens: whole(),
  prompt_tokens_details: object({ cached_tokens: whole(), cache_write_tokens: whole() }),
  completion_tokens_details: object({ reasoning_tokens: whole() }),
  cost: rub('What was charged.'),
  total_cost: rub('The same.'),
  currency: only('RUB'),
})
