import type { Principal } from '../../access/principal.ts'
import { reasonError } from '../../base/refusals.ts'
import { isoTime } from '../../base/time.ts'
import type { Route } from '../../http/edge.ts'
import type { HealthReport } from '../../pay/relay/endpoint-health.ts'
import { type CabinetPorts, openRoute } from './ports.ts'
import type { ServiceStatus } from './model-contract.ts'

type State = ServiceStatus['state']

/** Strangers get one answer for so long. */
const KEPT_MS = 15_000
/** Percent of answered requests in 5 minutes below which a model is degraded, and down where all its providers fail. */
const DEGRADED_BELOW = 95
const DOWN_BELOW = 50

/** The public status: from the health in this process, without the store; no provider, error or count is in it. */
export function statusRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  let kept: { readonly untilMs: number; readonly body: ServiceStatus } | null = null
  return [
    openRoute('GET /cabinet/v1/status', async () => {
      if (!ports.catalog.current().settings.statusPage) throw reasonError('status_off')
      const nowMs = ports.clock.monotonic()
      if (kept === null || kept.untilMs <= nowMs) kept = { untilMs: nowMs + KEPT_MS, body: statusOf(ports) }
      return { status: 200, body: kept.body }
    }),
  ]
}

function statusOf({ catalog, clock, health }: CabinetPorts): ServiceStatus {
  const listed = [...catalog.current().models.values()].filter(
    ({ hidden, endpoints }) => !hidden && endpoints.length > 0,
  )
  const models = listed.map((model) => {
    const reports = model.endpoints.map(({ id }) => health.report(id))
    return { id: model.id, name: model.name, type: model.type, ...modelStatus(reports) }
  })
  return { at: isoTime(clock.now()), state: serviceState(models.map(({ state }) => state)), models }
}

type Report = Pick<HealthReport, 'unhealthy' | 'uptime5m' | 'uptime1d'>

/** A request goes on to another provider, so a model is as well as its best one. */
export function modelStatus(reports: readonly Report[]): Pick<ServiceStatus['models'][number], 'state' | 'uptime_1d'> {
  const best = (of: 'uptime5m' | 'uptime1d'): number | null =>
    reports.reduce<number | null>((most, { [of]: up }) => (up === null ? most : Math.max(most ?? 0, up)), null)
  const [now, day] = [best('uptime5m'), best('uptime1d')]
  const allFail = reports.length > 0 && reports.every(({ unhealthy }) => unhealthy)
  const isAsked = allFail || day !== null
  const state = !isAsked
    ? 'unknown'
    : allFail && (now ?? 0) < DOWN_BELOW
      ? 'down'
      : (now ?? 100) < DEGRADED_BELOW
        ? 'degraded'
        : 'operational'
  return { state, uptime_1d: day }
}

/** Models that nobody asks say nothing. */
export function serviceState(states: readonly State[]): State {
  const known = states.filter((state) => state !== 'unknown')
  if (known.length === 0) return 'unknown'
  if (known.every((state) => state === 'down')) return 'down'
  return known.every((state) => state === 'operational') ? 'operational' : 'degraded'
}
