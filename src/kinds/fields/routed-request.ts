import { parseDecimal } from '../../base/money.ts'
import {
  either,
  flag,
  list,
  maybe,
  needed,
  number,
  object,
  oneOf,
  only,
  readBy,
  rub,
  said,
  text,
  turned,
  whole,
} from '../../base/schema.ts'
import { field, invalidInput, isObject, sessionIdOf, type RawObject } from './body-fields.ts'
import { readValue } from './paid-body.ts'

const FALLBACK_MODELS_MAX = 5

/** The fields that decide who serves a request of any kind. */
export interface RoutedRequest {
  /** As sent, including its suffix; null = the account's default model. */
  readonly model: string | null
  /** `models[]`, which are tried in order after `model`; at most 5. */
  readonly fallbackModels: readonly string[]
  readonly provider: ProviderPreferences
  /** The number of answers to each input; ≥ 1. */
  readonly n: number
  readonly sessionId: string | null
}

/** `provider` of a request (wire.md 8); slugs lower-cased. */
export interface ProviderPreferences {
  readonly order: readonly string[]
  readonly ignore: readonly string[]
  /** null = not given. */
  readonly only: readonly string[] | null
  readonly sort: (typeof SORTS)[number] | null
  readonly allowFallbacks: boolean
  readonly requireParameters: boolean
  /** RUB per 1M tokens (prompt, completion) or per unit (request, image), as decimal text. */
  readonly maxPrice: Readonly<Partial<Record<'prompt' | 'completion' | 'request' | 'image', string>>>
}

const SLUGS_MAX = 100
const SLUGS = said(
  list(text(), 'Slugs of providers.', { maxItems: SLUGS_MAX }),
  `must be an array of at most ${SLUGS_MAX} provider slugs`,
)
const SORTS = ['price', 'throughput', 'latency'] as const
const SORT = oneOf(SORTS)
const PRICE = readBy(
  either(
    number('', { minimum: 0, exclusiveMaximum: 1e21 }),
    text('A decimal.', { pattern: '^\\d{1,40}(\\.\\d{1,40})?$' }),
  ),
  (given, path) => {
    const price = typeof given === 'number' ? String(given) : given
    const decimal = typeof price === 'string' ? parseDecimal(price) : null
    if (typeof price === 'string' && decimal !== null && decimal.digits >= 0n) return price
    throw invalidInput(path, 'must be a number of at least 0')
  },
)

/** `provider` of a paid body (wire.md 8); keys that are not offered here are ignored. */
export const ProviderPreferences = turned(
  object(
    {
      order: maybe(SLUGS),
      ignore: maybe(SLUGS),
      only: maybe(SLUGS),
      sort: maybe(
        readBy(either(SORT, object({ by: SORT })), (given, path) => {
          const sort = SORTS.find((name) => name === (isObject(given) ? field(given, 'by') : given))
          if (sort !== undefined) return sort
          throw invalidInput(path, 'must be price, throughput or latency')
        }),
      ),
      allow_fallbacks: maybe(flag()),
      require_parameters: maybe(flag()),
      max_price: maybe(
        object({ prompt: maybe(PRICE), completion: maybe(PRICE), request: maybe(PRICE), image: maybe(PRICE) }),
      ),
    },
    'Who may serve the request.',
  ),
  ({ order, ignore, only, sort, allow_fallbacks, require_parameters, max_price }): ProviderPreferences => ({
    order: lowerCase(order ?? []),
    ignore: lowerCase(ignore ?? []),
    only: only ? lowerCase(only) : null,
    sort: sort ?? null,
    allowFallbacks: allow_fallbacks ?? true,
    requireParameters: require_parameters ?? false,
    // The reader leaves fields that are null out.
    maxPrice: (max_price ?? {}) as ProviderPreferences['maxPrice'],
  }),
)

function lowerCase(slugs: readonly string[]): readonly string[] {
  return slugs.map((slug) => slug.toLowerCase())
}

const NO_PREFERENCES = readValue(ProviderPreferences, {}, 'provider')

export function parseProviderPreferences(body: RawObject): ProviderPreferences {
  const given = field(body, 'provider')
  return given === undefined ? NO_PREFERENCES : readValue(ProviderPreferences, given, 'provider')
}

/** The routing of a request with one model and one answer; `provider` as `readPaidBody` gives it. */
export function routingOf(
  json: unknown,
  { model, provider }: { readonly model: string; readonly provider?: ProviderPreferences | null | undefined },
): RoutedRequest & { readonly model: string } {
  const sessionId = isObject(json) ? sessionIdOf(json) : null
  return { model, fallbackModels: [], n: 1, provider: provider ?? NO_PREFERENCES, sessionId }
}

/** Fields that every paid body accepts. `session_id` is only a label, so an unusable one is dropped. */
export const ROUTED = { provider: maybe(ProviderPreferences) } as const
export const MODEL = needed(text('`vendor/name`.', { minLength: 1 }), 'missing_model', 'empty text')
export const OPTIONAL_MODEL = maybe(text("The account's default model if absent."))
export const MODELS = maybe(
  list(text('', { minLength: 1 }), 'Tried in order if the one before fails.', { maxItems: 5 }),
)
export const USER = maybe(text("A label of the client's own user."))
/** Streaming is not offered here: `true` is refused. */
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

/** `models[]`, tried in order after `model`. */
export function fallbackModelsOf(body: RawObject): readonly string[] {
  const models = field(body, 'models')
  if (models === undefined) return []
  const refusal = invalidInput('models', `must be an array of at most ${FALLBACK_MODELS_MAX} model ids`)
  if (!Array.isArray(models) || models.length > FALLBACK_MODELS_MAX) throw refusal
  return models.map((model: unknown) => {
    if (typeof model !== 'string' || model === '') throw refusal
    return model
  })
}
