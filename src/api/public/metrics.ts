import type { Principal } from '../../access/principal.ts'
import { unavailable } from '../../base/errors.ts'
import {
  PROMETHEUS_TYPE,
  type WorkerReadings,
  mergeReadings,
  prometheusText,
  readingsByWorker,
} from '../../base/prometheus.ts'
import { choiceParameter } from '../../base/query-parameters.ts'
import { object, oneOf, optional } from '../../base/schema.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { EdgeAccess, Route } from '../../http/edge.ts'
import { pathTemplate } from '../../http/router.ts'

const MetricsPer = oneOf(['worker'], 'One series for each worker; absent = their sum.')
export const MetricsQuery = object({ per: optional(MetricsPer) })

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/
/**
 * The accepted values of Host. A page that points its domain at this machine could make a browser read the metrics, but
 * its Host is not in this list.
 */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i
/** Headers that proxies add: a request with any of them came through a proxy. */
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'] as const

/**
 * `GET /metrics` for Prometheus (operator.md 4): open to this machine, and with an admin token to others. The metrics
 * of the workers are either added up or labelled by worker.
 */
export function metricsRoute(
  access: EdgeAccess<Principal>,
  metrics: () => Promise<readonly WorkerReadings[]>,
): Route<Principal> {
  return {
    method: 'GET',
    path: '/metrics',
    plane: 'open',
    body: 'none',
    handle: async ({ request, clientIp, query }) => {
      const direct = FORWARDED.every((name) => request.headers[name] === undefined)
      if (
        !(direct && LOOPBACK.test(request.socket.remoteAddress ?? '') && LOOPBACK_HOST.test(request.headers.host ?? ''))
      ) {
        const admitted = await access.admit(request, 'metrics:read', clientIp)
        if ('error' in admitted) throw admitted.error
      }
      const all = await metrics()
      const readings =
        choiceParameter(query, 'per', MetricsPer) === 'worker'
          ? readingsByWorker(all)
          : mergeReadings(all.map(({ metrics: some }) => some))
      return { status: 200, body: prometheusText(readings), contentType: PROMETHEUS_TYPE }
    },
  }
}

const RETRY_SECONDS = 5

export interface HealthRoutePorts {
  readonly version: string
  /** Every existing route: the health record lists them. */
  readonly routes: readonly Route<Principal>[]
  readonly catalog: Catalog
  /** Why the process should get no requests now, as the beginning of a sentence; null = it accepts requests. */
  readonly unready: () => string | null
}

export function healthRoutes({ version, routes, catalog, unready }: HealthRoutePorts): readonly Route<Principal>[] {
  const endpoints = [
    ...new Set(['health', ...routes.filter(({ path }) => path.startsWith('/v1/')).map(({ path }) => shown(path))]),
  ]
  const open = (path: string, handle: Route<Principal>['handle']): Route<Principal> => ({
    method: 'GET',
    path,
    plane: 'open',
    body: 'none',
    handle,
  })
  return [
    open('/v1/health', () => ({
      status: 200,
      body: { status: catalog.current().settings.maintenance === null ? 'ok' : 'maintenance', version, endpoints },
    })),
    // Claude Code checks here whether a server answers.
    open('/api/hello', () => ({ status: 200, body: { status: 'ok' } })),
    open('/healthz', () => ({ status: 200, body: { status: 'ok' } })),
    open('/readyz', () => {
      const reason = unready()
      if (reason !== null)
        throw unavailable(`${reason}. Retry after ${RETRY_SECONDS} seconds`, RETRY_SECONDS, 'not_ready')
      return { status: 200, body: { status: 'ready' } }
    }),
  ]
}

/** Shows `/v1/models/:author/:slug/endpoints` as `models/{author}/{slug}/endpoints`. */
function shown(path: string): string {
  return pathTemplate(path).slice('/v1/'.length)
}
