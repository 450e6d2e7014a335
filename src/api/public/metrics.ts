import type { Principal } from '../../access/principal.ts'
import { choiceParameter } from '../../base/query-parameters.ts'
import { object, oneOf, optional } from '../../base/schema.ts'
import type { EdgeAccess, Route } from '../../http/edge.ts'
import {
  mergeReadings,
  PROMETHEUS_TYPE,
  prometheusText,
  readingsByWorker,
  type WorkerReadings,
} from '../../base/prometheus.ts'

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
