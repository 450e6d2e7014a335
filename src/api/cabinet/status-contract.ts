import { list, nullable, number, object, oneOf, text, time, type Static } from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'
import { ModelType } from './model-contract.ts'

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

/** The public status page. */
export const STATUS_ROUTES = {
  'GET /cabinet/v1/status': {
    summary: 'How the service and its models are. Open to anybody where the setting `status_page` is on, else a 404.',
    answer: ServiceStatus,
    errors: ['not_found'],
  },
} as const satisfies Readonly<Record<string, WireRoute>>
