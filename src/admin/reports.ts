import { readEmail } from '../access/email.ts'
import type { Principal } from '../access/principal.ts'
import { currentRateTrouble } from '../catalog/rate-trouble.ts'
import { generationFilter, logRecord, searchNotes } from '../endpoints/generation.ts'
import { timeParameter } from '../http/query.ts'
import { fieldError } from '../errors.ts'
import type { Reply, Route } from '../http/edge.ts'
import { publicAddress } from '../http/public-address.ts'
import { periodStarts } from '../ledger/period.ts'
import { rubles } from '../money.ts'
import type { EventFilter, GenerationFilter, GenerationRow } from '../store/store.ts'
import { BodyFields } from '../kinds/strict-body.ts'
import { usageSums } from './margin.ts'
import { adminRoute, page, recordEvent, type AdminCall, type AdminPorts } from './ports.ts'
import { refuseOwnLink } from './users.ts'
import type { OperatorWarning } from './warning-contract.ts'

const GROUPS = ['model', 'provider', 'account', 'key', 'day'] as const
const STATUSES = ['completed', 'error', 'cancelled'] as const
const DAY_MS = 86_400_000
const USAGE_DAYS = 30

/** Usage, log, health, events and administrators (operator.md 4). */
export function reportAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET', 'usage', (call) => usage(ports, call)),
    adminRoute('GET', 'generations', (call) => generations(ports, call)),
    adminRoute('GET', 'endpoints/health', async () => endpointHealth(ports)),
    adminRoute('GET', 'events', (call) => events(ports, call)),
    adminRoute('GET', 'warnings', async () => ({ status: 200, body: { data: await warnings(ports) } })),
    adminRoute('POST', 'administrators', (call) => invite(ports, call)),
    adminRoute('POST', 'kek/rotate', (call) => rotateKek(ports, call), 'none'),
  ]
}

async function rotateKek(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const body = { rewrapped: await ports.rewrap() }
  await recordEvent(ports, call, 'kek.rotate', 'kek', null, body)
  return { status: 200, body }
}

async function usage(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const groupBy = GROUPS.find((name) => name === (call.query.get('group_by') ?? 'model'))
  if (groupBy === undefined)
    throw fieldError('group_by', 'one_of', { allowed: GROUPS.join(', ') }, `must be one of ${GROUPS.join(', ')}`)
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

async function generations(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const filter: { -readonly [K in keyof GenerationFilter]: GenerationFilter[K] } = {
    ...generationFilter(call.query),
    ...page(call),
  }
  const account = call.query.get('account')
  const key = call.query.get('key')
  const provider = call.query.get('provider')
  const status = call.query.get('status')
  if (account !== null) filter.accountId = account
  if (key !== null) filter.keyId = key
  if (provider !== null) filter.provider = provider
  const flagged = call.query.get('flagged')
  if (flagged !== null && flagged !== 'true')
    throw fieldError('flagged', 'one_of', { allowed: 'true' }, 'must be true, or left out')
  if (flagged !== null) filter.flagged = true
  if (status !== null) {
    const known = STATUSES.find((name) => name === status)
    if (known === undefined)
      throw fieldError('status', 'one_of', { allowed: STATUSES.join(', ') }, `must be one of ${STATUSES.join(', ')}`)
    filter.status = known
  }
  const found = await ports.store.generations.list(filter)
  return { status: 200, body: { data: found.data.map(operatorRecord), total: found.total, ...searchNotes(found) } }
}

function operatorRecord(row: GenerationRow): Record<string, unknown> {
  return {
    ...logRecord(row),
    account: row.accountId,
    key: row.keyId,
    provider: row.providerSlug,
    endpoint: row.endpointId,
    upstream_id: row.upstreamId,
    attempts: row.attempts,
    error_type: row.errorType,
    flagged: row.flagged,
    price_version: row.priceVersion,
    meters: row.usage,
    reported_meters: row.reportedUsage ?? null,
    provider_cost: rubles(row.providerCostMicro),
    insured: rubles(row.insuredMicro),
    shortfall: rubles(row.shortfallMicro),
  }
}

function endpointHealth(ports: AdminPorts): Reply {
  const data = [...ports.catalog.current().models.values()].flatMap((model) =>
    model.endpoints.map((endpoint) => {
      const report = ports.health.report(endpoint.id)
      return {
        model: model.id,
        provider: endpoint.provider.slug,
        endpoint: endpoint.id,
        state: report.unhealthy ? 'cooling_down' : 'healthy',
        error_rate_30m: report.uptime30m === null ? null : Math.round((100 - report.uptime30m) * 10) / 1_000,
        ttft_ms_30m: report.latency30m,
        throughput_30m: report.throughput30m,
      }
    }),
  )
  return { status: 200, body: { data, total: data.length } }
}

async function events(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const { limit, offset } = page(call)
  const { data, total } = await ports.store.events.list(limit, offset, eventFilter(call.query))
  const body = data.map(({ atMs, before, after, ...event }) => ({
    ...event,
    at: new Date(atMs).toISOString(),
    before: before === null ? null : JSON.parse(before),
    after: after === null ? null : JSON.parse(after),
  }))
  return { status: 200, body: { data: body, total } }
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

/** Fixed rates are nobody's to fetch. */
async function warnings({ store, catalog }: AdminPorts): Promise<readonly OperatorWarning[]> {
  const trouble = catalog.ratesSource() === 'cbr' ? await currentRateTrouble(store.events) : null
  if (trouble === null) return []
  const { sinceMs, ...told } = trouble
  return [{ ...told, since: new Date(sinceMs).toISOString() }]
}

async function invite(ports: AdminPorts, call: AdminCall): Promise<Reply> {
  const fields = new BodyFields(call.json)
  const email = fields.requiredText('email', 255)
  fields.done()
  refuseOwnLink(ports, call, readEmail(email))
  const { id, email: kept, token } = await ports.links.invite(email)
  await recordEvent(ports, call, 'administrator.create', id, null, { email: kept })
  return {
    status: 201,
    body: { id, email: kept, link: `${publicAddress(ports.publicUrl, call)}/setup?token=${token}` },
  }
}
