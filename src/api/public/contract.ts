import {
  anything,
  either,
  flag,
  list,
  map,
  narrowed,
  nullable,
  number,
  object,
  oneOf,
  only,
  open,
  optional,
  rub,
  text,
  time,
  whole,
  body,
  filled,
  type Static,
} from '../../base/schema.ts'
import { KEY_LIMITS, ALLOWED_MODELS, KEY_LIMIT_FIELDS, KEY_USAGE } from '../records/limits-contract.ts'
import { filterFields } from '../../ledger/log-filters.ts'
import { MODEL_FILTERS } from './models.ts'
import { viewSchemas } from '../../ledger/generation-record.ts'

const RESET = nullable(oneOf(['daily', 'weekly', 'monthly']), 'null = the limit is for the whole life of the key.')
const NAME = filled('', 100)
const MODELS = nullable(ALLOWED_MODELS)
const NONE = nullable(text('Always null.'))
const NO_BYOK = optional(flag('Accepted for clients of OpenRouter, without effect.'))

/** A key in the key management API, in the shape that OpenRouter's clients read. */
export const ManagedKey = object({
  hash: text('Names the key in this API, in the log and in the cabinet.'),
  name: text(),
  label: text('`sk-tg-abc…xyz`: all that is ever shown again.'),
  disabled: flag(),
  limit: nullable(rub()),
  limit_reset: RESET,
  limit_remaining: nullable(rub()),
  ...KEY_USAGE,
  currency: only('RUB'),
  include_byok_in_limit: only(false),
  byok_usage: number('Always 0.'),
  byok_usage_daily: number('Always 0.'),
  byok_usage_weekly: number('Always 0.'),
  byok_usage_monthly: number('Always 0.'),
  expires_at: nullable(time()),
  allowed_models: MODELS,
  ...KEY_LIMITS,
  created_at: time(),
  updated_at: NONE,
  last_used_at: nullable(time()),
  creator_user_id: text('The account.'),
  external_user: NONE,
  workspace_id: text('The account.'),
})
export type ManagedKey = Static<typeof ManagedKey>

export const ManagedKeyBody = body({
  name: NAME,
  limit: optional(nullable(rub('What the key may spend in a period; null = no limit.', { minimum: 0 }))),
  limit_reset: optional(RESET),
  include_byok_in_limit: NO_BYOK,
  expires_at: optional(nullable(time())),
  allowed_models: optional(MODELS),
  ...KEY_LIMIT_FIELDS,
})

export const ManagedKeyPatch = body({
  name: optional(NAME),
  disabled: optional(flag()),
  limit: ManagedKeyBody.fields.limit,
  limit_reset: ManagedKeyBody.fields.limit_reset,
  include_byok_in_limit: NO_BYOK,
  expires_at: ManagedKeyBody.fields.expires_at,
  allowed_models: ManagedKeyBody.fields.allowed_models,
  ...KEY_LIMIT_FIELDS,
})

export const ManagedKeyQuery = object({
  offset: optional(whole('0 if absent.', { minimum: 0 })),
  include_disabled: optional(text('`true` = those that are switched off as well.')),
})
export const ManagedKeys = object({ data: list(ManagedKey) }, 'At most 100, the newest first.')
export const OneManagedKey = object({ data: ManagedKey })
export const NewManagedKey = object({ data: ManagedKey, key: text('Shown this once.') })
export const ManagedKeyDeleted = object({ deleted: only(true) })

const { id, model_name, input_tokens, output_tokens, total_cost, timestamp, ...rest } = viewSchemas('api')

/** A row of the log in the API's list. */
export const LogRecord = object({
  id,
  model_name,
  input_tokens,
  output_tokens,
  total_cost,
  timestamp,
  currency: only('RUB'),
  ...rest,
})
export type LogRecord = Static<typeof LogRecord>

/** Warnings about a search that was cut short. */
export const SearchNotes = object({
  total_exact: optional(only(false, 'There are at least `total`.')),
  searched_to: optional(time('Rows that ended before it were not looked at.')),
})
export type SearchNotes = Static<typeof SearchNotes>

const NULL = narrowed<null>({ type: 'null' })
const Percentiles = object({ p50: number(), p75: number(), p90: number(), p99: number() })
const PricesWhen = list(map(anything()))
const Pricing = open(
  {
    currency: only('RUB'),
    prompt: text(),
    completion: text(),
    overrides: optional(PricesWhen),
    service_tiers: optional(map(map(anything()))),
    hours: optional(PricesWhen),
  },
  text(),
  'RUB a unit, as decimals.',
)

const Architecture = object({
  modality: text(),
  input_modalities: list(text()),
  output_modalities: list(text()),
  tokenizer: text(),
  instruct_type: nullable(text()),
})

/** A model in the API's lists (wire.md D-1.1, D-1.2). */
export const ModelRecord = object({
  id: text(),
  object: only('model'),
  owned_by: text(),
  canonical_slug: text(),
  name: text(),
  type: text(),
  created: whole('Unix seconds.'),
  description: text(),
  context_length: nullable(whole()),
  architecture: Architecture,
  pricing: Pricing,
  top_provider: object({
    context_length: nullable(whole()),
    max_completion_tokens: nullable(whole()),
    is_moderated: flag(),
  }),
  per_request_limits: NULL,
  supported_parameters: either(list(text()), map(anything(), 'In `/v1/images/models`.')),
  default_parameters: NULL,
  supported_voices: nullable(list(text())),
  supported_endpoints: list(text()),
  links: object({ details: text() }),
  expiration_date: NULL,
  knowledge_cutoff: NULL,
  hugging_face_id: NULL,
  supported_formats: optional(list(text())),
  supported_sizes: optional(nullable(list(text()))),
  supported_resolutions: optional(nullable(list(text()))),
  supported_aspect_ratios: optional(nullable(list(text()))),
  supported_durations: optional(nullable(list(number()))),
  supported_frame_images: optional(nullable(list(text()))),
  generate_audio: optional(nullable(flag())),
  seed: optional(nullable(flag())),
  creativity: optional(NULL),
  upscale_factor: optional(NULL),
  pricing_skus: optional(map(text())),
  allowed_passthrough_parameters: optional(list(text())),
  supports_streaming: optional(flag()),
  endpoints: optional(text()),
})

export const ModelQuery = object({
  limit: optional(whole('', { minimum: 1, maximum: 1_000 })),
  offset: optional(whole('', { minimum: 0 })),
})
/** The filter of a model list. */
export const ModelFilterQuery = object({
  filter: optional(oneOf(MODEL_FILTERS, '`all` if absent (wire.md D-1.5).')),
  output_modalities: optional(text('A comma list, in place of `filter`.')),
})
export const ModelList = object({
  object: only('list'),
  data: list(ModelRecord),
  models: optional(list(map(anything()), 'What Codex reads, where the query has `client_version`.')),
  total_count: whole(),
  links: object({ next: nullable(text()) }),
})
export const ModelCount = object({ data: object({ count: whole() }) })
export const OneModel = object({ data: ModelRecord })

/** The endpoints of a model (wire.md 12). */
export const ModelEndpoints = object({
  data: object({
    id: text(),
    name: text(),
    created: whole(),
    description: text(),
    architecture: Architecture,
    endpoints: list(
      object({
        name: text(),
        model_id: text(),
        model_name: text(),
        provider_name: text(),
        tag: text(),
        context_length: nullable(whole()),
        max_completion_tokens: nullable(whole()),
        max_prompt_tokens: NULL,
        quantization: text(),
        status: whole('0; -2 while it rests after errors.'),
        pricing: Pricing,
        supported_parameters: list(text()),
        supports_implicit_caching: flag(),
        supports_voice_cloning: flag(),
        supports_tool_choice: map(flag()),
        uptime_last_5m: nullable(number()),
        uptime_last_30m: nullable(number()),
        uptime_last_1d: nullable(number()),
        latency_last_30m: nullable(Percentiles),
        throughput_last_30m: nullable(Percentiles),
      }),
    ),
  }),
})

export const Providers = object({
  data: list(
    object({
      name: text(),
      slug: text(),
      privacy_policy_url: NULL,
      terms_of_service_url: NULL,
      status_page_url: NULL,
    }),
  ),
})

export const Balance = object({
  user: text('The account.'),
  balance: rub(),
  currency: only('RUB'),
  reserved: rub('Held for requests that run.'),
  available: rub(),
})
export const Credits = object({
  data: object({ total_credits: rub(), total_usage: rub(), currency: only('RUB') }),
})
export const KeyRecord = object({
  data: open(
    {
      label: text(),
      name: text(),
      limit: nullable(rub()),
      limit_reset: nullable(oneOf(['daily', 'weekly', 'monthly'])),
      limit_remaining: nullable(rub()),
      limit_resets_at: nullable(text('', { format: 'date-time' })),
      usage: rub(),
      usage_daily: rub(),
      usage_weekly: rub(),
      usage_monthly: rub(),
      currency: only('RUB'),
      expires_at: nullable(text('', { format: 'date-time' })),
      ...KEY_LIMITS,
      rate_limit: object({ requests: whole(), interval: text(), note: text() }),
    },
    anything('Keys that clients of OpenRouter ask for.'),
  ),
})

export const LogQuery = object({
  id: optional(text('One request, in the record of OpenRouter.')),
  limit: optional(whole('10 if absent; 300 at most.', { minimum: 1 })),
  offset: optional(whole('', { minimum: 0 })),
  ...filterFields('api'),
})
export const Log = either(
  object({ logs: list(LogRecord), total: whole(), ...SearchNotes.fields }),
  object({
    data: open({ id: text(), model: text(), total_cost: rub(), currency: only('RUB'), created_at: text() }, anything()),
  }),
)

export const StreamQuery = object({
  id: text('Its `X-Request-Id`, generation id or response id.'),
  after: optional(
    whole('The last event that the client has; else the header `Last-Event-ID`; else 0.', { minimum: 0 }),
  ),
})
export const StreamCancelled = object({
  id: text(),
  object: only('stream'),
  status: oneOf(['cancelled', 'completed']),
})
export const Health = object({
  status: oneOf(['ok', 'maintenance']),
  version: text(),
  endpoints: list(text()),
})
export const Alive = object({ status: only('ok') })
export const Ready = object({ status: only('ready') })
