import { readEmail } from '../../email.ts'
import { ROLE_SCOPES } from '../../tables/admin-scopes.ts'
import type { BodyOf } from '../../http/wire-route.ts'
import type { AdminApi } from './contract.ts'
import type { Principal } from '../../access/principal.ts'
import { currentRateTrouble } from '../../catalog/rate-trouble.ts'
import { dayRange } from '../../http/day-range.ts'
import { choiceParameter, timeParameter } from '../../base/query-parameters.ts'
import type { HIJACKED, Route } from '../../http/edge.ts'
import { sendCsv } from '../../http/sent-csv.ts'
import { focusCsv } from '../records/focus-export.ts'
import type { EventAction } from '../../ledger/event-action.ts'
import { periodStarts } from '../../ledger/period.ts'
import type { EventFilter, EventRecord } from '../../store/events/event-store.ts'
import { listBody, listRoute } from '../../admin/list-route.ts'
import { usageSums } from './margin.ts'
import {
  adminRoute,
  notFound,
  recordEvent,
  refuseBeyondOwn,
  type AdminCall,
  type AdminReply,
  type AdminPorts,
} from '../../admin/ports.ts'
import { handedLink, refuseOwnLink } from './users.ts'
import { EventSort, UsageGroup, type AuditEvent } from './report-contract.ts'
import type { OperatorWarning } from './warning-contract.ts'
import { DAY_MS, isoTime } from '../../base/time.ts'

const USAGE_DAYS = 30

/** Usage, health, events and administrators. */
export function reportAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/usage', (call) => usage(ports, call)),
    adminRoute('GET /admin/v1/focus.csv', (call) => focusExport(ports, call)),
    adminRoute('GET /admin/v1/endpoints/health', async () => endpointHealth(ports)),
    listRoute(ports, 'GET /admin/v1/events', async ({ query }, range) => {
      const order = choiceParameter(query, 'sort', EventSort) ?? undefined
      return listBody(await ports.store.events.list(range, eventFilter(query), order), wireEvent)
    }),
    adminRoute('GET /admin/v1/warnings', async () => ({ status: 200, body: { data: await warnings(ports) } })),
    adminRoute('POST /admin/v1/administrators', (call, read) => invite(ports, call, read())),
    adminRoute('POST /admin/v1/kek/rotate', (call) => rotateKek(ports, call)),
  ]
}

async function rotateKek(ports: AdminPorts, call: AdminCall): Promise<AdminReply<'POST /admin/v1/kek/rotate'>> {
  const body = { rewrapped: await ports.rewrap() }
  await recordEvent(ports, call, 'kek.rotate', 'kek', null, body)
  return { status: 200, body }
}

async function usage(ports: AdminPorts, call: AdminCall): Promise<AdminReply<'GET /admin/v1/usage'>> {
  const groupBy = choiceParameter(call.query, 'group_by', UsageGroup) ?? 'model'
  const { timezone } = ports.catalog.current().settings
  const toMs = timeParameter(call.query, 'to') ?? ports.clock.now() + DAY_MS
  const fromMs = timeParameter(call.query, 'from') ?? toMs - USAGE_DAYS * DAY_MS
  const rows = await ports.store.generations.usage({
    groupBy,
    fromDay: periodStarts(fromMs, timezone).day,
    toDay: periodStarts(toMs, timezone).day,
  })
  const data = rows.map((row) => ({
    [groupBy]: row.group,
    ...usageSums(row),
  }))
  return { status: 200, body: { data, total: data.length } }
}

async function focusExport(ports: AdminPorts, call: AdminCall): Promise<typeof HIJACKED> {
  const { timezone } = ports.catalog.current().settings
  const { from, to } = dayRange(call.query, ports.periods().day)
  const accountId = call.query.get('account')
  if (accountId !== null && (await ports.store.accounts.get(accountId)) === null) throw notFound('Account', accountId)
  const lines = focusCsv(ports.store.charges, { accountId, from, to, timezone })
  return sendCsv(call, `tollgate-focus-${from}-${to}.csv`, lines)
}

function endpointHealth(ports: AdminPorts): AdminReply<'GET /admin/v1/endpoints/health'> {
  const data = [...ports.catalog.current().models.values()].flatMap((model) =>
    model.endpoints.map((endpoint) => {
      const report = ports.health.report(endpoint.id)
      return {
        model: model.id,
        provider: endpoint.provider.slug,
        endpoint: endpoint.id,
        state: report.unhealthy ? ('cooling_down' as const) : ('healthy' as const),
        error_rate_30m: report.uptime30m === null ? null : Math.round((100 - report.uptime30m) * 10) / 1_000,
        ttft_ms_30m: report.latency30m,
        throughput_30m: report.throughput30m,
      }
    }),
  )
  return { status: 200, body: { data, total: data.length } }
}

function wireEvent({ atMs, before, after, ...event }: EventRecord): AuditEvent {
  return {
    ...event,
    // The store writes no other action.
    action: event.action as EventAction,
    at: isoTime(atMs),
    before: before === null ? null : JSON.parse(before),
    after: after === null ? null : JSON.parse(after),
  }
}

function eventFilter(query: URLSearchParams): EventFilter {
  const filter: { -readonly [K in keyof EventFilter]: EventFilter[K] } = {}
  for (const name of ['actor', 'action', 'object'] as const) {
    const value = query.get(name)
    if (value !== null && value !== '') filter[name] = value
  }
  const fromMs = timeParameter(query, 'from')
  const toMs = timeParameter(query, 'to')
  if (fromMs !== null) filter.fromMs = fromMs
  if (toMs !== null) filter.toMs = toMs
  return filter
}

/** Fixed rates are never fetched, so no fetch can fail. */
async function warnings({ store, catalog }: AdminPorts): Promise<readonly OperatorWarning[]> {
  const trouble = catalog.ratesSource() === 'cbr' ? await currentRateTrouble(store.events) : null
  if (trouble === null) return []
  const { sinceMs, ...told } = trouble
  return [{ ...told, since: isoTime(sinceMs) }]
}

async function invite(
  ports: AdminPorts,
  call: AdminCall,
  { email, role = 'owner' }: BodyOf<AdminApi['POST /admin/v1/administrators']>,
): Promise<AdminReply<'POST /admin/v1/administrators'>> {
  refuseBeyondOwn(ports, call, ROLE_SCOPES[role])
  refuseOwnLink(ports, call, readEmail(email))
  const { id, email: kept, token } = await ports.links.invite(email, role)
  await recordEvent(ports, call, 'administrator.create', id, null, { email: kept, role })
  const person = { id, email: kept, language: null }
  return { status: 201, body: handedLink(ports, call, person, { kind: 'invitation', token }) }
}
