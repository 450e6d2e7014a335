import {
  time,
  flag,
  list,
  nullable,
  object,
  oneOf,
  text,
  whole,
  day,
  number,
  map,
  type Static,
} from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'
import { MODEL_TYPES } from '../../tables/model-types.ts'

export const ModelType = oneOf(MODEL_TYPES)
export type ModelType = Static<typeof ModelType>

export const Prices = map(
  text(),
  'RUB per million tokens or characters (`prompt`, `completion`, `input_cache_read`, …, `characters`) or per unit (`request`, `image`, `image_output`, `search`, `second`, `video_second`): exact decimals.',
)
export type Prices = Static<typeof Prices>

const Conditions = list(
  object({ condition: text('Such as `above 200000`, `flex` or `16:30-00:30 UTC`.'), prices: Prices }),
  'Prices under conditions; those that are not named stay as they are.',
)

export const Percentiles = object({ p50: number(), p75: number(), p90: number(), p99: number() })
export type Percentiles = Static<typeof Percentiles>

export const ModelEndpoint = object({
  id: text(),
  provider: text(),
  provider_name: text(),
  state: oneOf(['healthy', 'cooling_down']),
  prices: Prices,
  conditions: Conditions,
  context_length: nullable(whole()),
  max_completion_tokens: nullable(whole()),
  supported_parameters: list(text()),
  uptime_5m: nullable(number('Percent of requests that were answered; null = there were none.')),
  uptime_30m: nullable(number()),
  uptime_1d: nullable(number()),
  ttft_ms: nullable(Percentiles),
  throughput: nullable(Percentiles, 'Tokens per second.'),
})
export type ModelEndpoint = Static<typeof ModelEndpoint>

export const ModelRow = object({
  id: text(),
  name: text(),
  type: ModelType,
  description: nullable(text()),
  context_length: nullable(whole()),
  max_completion_tokens: nullable(whole()),
  guessed: list(text(), 'Which of `context_length` and `max_completion_tokens` nobody has stated.'),
  input_modalities: list(text()),
  output_modalities: list(text()),
  created: day(),
  prices: Prices,
  conditions: Conditions,
  coming: nullable(
    object({ from: time(), prices: Prices, conditions: Conditions }, 'The prices from a later time on; null = none.'),
  ),
  aliases: list(text()),
  allowed: flag('Usable by this account and its settings.'),
  voices: list(text()),
  formats: list(text()),
  sizes: list(text()),
  durations: list(number()),
  endpoints: list(ModelEndpoint),
})
export type ModelRow = Static<typeof ModelRow>

export const Models = object({ data: list(ModelRow) })

export const SERVICE_STATES = ['operational', 'degraded', 'down', 'unknown'] as const

const State = oneOf(
  SERVICE_STATES,
  '`degraded`: some requests fail now, `down`: all of them, `unknown`: nobody has asked in the last 24 hours.',
)

export const ServiceStatus = object({
  at: time('When it was looked at; at most 15 seconds ago.'),
  state: State,
  models: list(
    object({
      id: text(),
      name: text(),
      type: ModelType,
      state: State,
      uptime_1d: nullable(
        number(
          'Percent of requests that its best provider answered in the last 24 hours, by this server; null = none.',
        ),
      ),
    }),
  ),
})
export type ServiceStatus = Static<typeof ServiceStatus>

/** Models that the account may ask. */
export const MODEL_ROUTES = {
  'GET /cabinet/v1/models': { summary: 'Every listed model.', answer: Models, example: {} },
  'GET /cabinet/v1/models/*id': {
    summary: 'One model. The slashes of its id stay in the path.',
    answer: ModelRow,
    errors: ['model_record_not_found'],
  },
  'GET /cabinet/v1/status': {
    summary: 'How the service and its models are. Open to anybody where the setting `status_page` is on, else a 404.',
    answer: ServiceStatus,
    errors: ['not_found'],
  },
} as const satisfies Readonly<Record<string, WireRoute>>
