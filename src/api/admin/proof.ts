import type { Principal } from '../../access/principal.ts'
import type { CatalogService } from '../../catalog/catalog-service.ts'
import { fieldError } from '../../base/refusals.ts'
import type { Route } from '../../http/edge.ts'
import { timeParameter } from '../../base/query-parameters.ts'
import { decimalText, rubles } from '../../base/money.ts'
import type { AuditCheck, AuditStore } from '../../store/audit/audit-store.ts'
import type { AuditReport, ReplayReport } from './report-contract.ts'
import { adminRoute, type AdminCall, type AdminAnswer, type AdminPorts } from './ports.ts'
import { isoTime } from '../../base/time.ts'

/** Checks that the books are right. */
export function proofAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/audit', async (call) =>
      auditBody(await ports.audit(timeParameter(call.query, 'since') ?? 0)),
    ),
    adminRoute('GET /admin/v1/audit/replay', (call) => replay(ports, call)),
  ]
}

/** The report of `tollgate audit`. */
export function auditBody(checks: readonly AuditCheck[]): AuditReport {
  const violations = checks.reduce((sum, check) => sum + check.violations.length, 0)
  return {
    ok: violations === 0,
    violations,
    checks: checks.map(({ id, name, violations: found }) => ({
      id,
      name,
      ok: found.length === 0,
      violations: found.length,
      found,
    })),
  }
}

/** A period in Unix ms; null = open at that end. */
export interface ReplayRange {
  readonly fromMs: number | null
  readonly toMs: number | null
}

async function replay(ports: AdminPorts, call: AdminCall): Promise<AdminAnswer<'GET /admin/v1/audit/replay'>> {
  const range = { fromMs: timeParameter(call.query, 'from'), toMs: timeParameter(call.query, 'to') }
  return await replayBody(range, ports.replay, ports.catalog)
}

/** The report of `tollgate audit --replay`. */
export async function replayBody(
  range: ReplayRange,
  run: AdminPorts['replay'],
  catalog: Pick<CatalogService, 'ratesOf'>,
): Promise<ReplayReport> {
  const { fromMs, toMs } = range
  if (fromMs !== null && toMs !== null && fromMs > toMs)
    throw fieldError('from', 'not_after', {}, 'must not be after to')
  const report = await run(fromMs ?? 0, toMs ?? Number.MAX_SAFE_INTEGER)
  const types = [...report.types].toSorted(([left], [right]) => (left < right ? -1 : 1))
  const total = types.reduce(
    (sum, [, each]) => ({
      rows: sum.rows + each.rows,
      chargedMicro: sum.chargedMicro + each.chargedMicro,
      shortfallMicro: sum.shortfallMicro + each.shortfallMicro,
      providerCostMicro: sum.providerCostMicro + each.providerCostMicro,
    }),
    { rows: 0, chargedMicro: 0n, shortfallMicro: 0n, providerCostMicro: 0n },
  )
  return {
    ok: report.violations.length === 0,
    from: isoTime(fromMs),
    to: isoTime(toMs),
    ...sums(total),
    types: types.map(([type, each]) => ({ type, ...sums(each) })),
    price_versions: await versionsOf(report, catalog),
    without_log: { rows: report.withoutLog.rows, charged: rubles(report.withoutLog.chargedMicro) },
    violations: report.violations.length,
    found: report.violations,
  }
}

type Replayed = Awaited<ReturnType<AuditStore['replay']>>

function sums({
  rows,
  chargedMicro,
  shortfallMicro,
  providerCostMicro,
}: Replayed['types'] extends ReadonlyMap<unknown, infer Sums> ? Readonly<Sums> : never): Omit<
  ReplayReport['types'][number],
  'type'
> {
  return {
    rows,
    charged: rubles(chargedMicro),
    shortfall: rubles(shortfallMicro),
    provider_cost: rubles(providerCostMicro),
  }
}

async function versionsOf(
  { versions }: Replayed,
  catalog: Pick<CatalogService, 'ratesOf'>,
): Promise<ReplayReport['price_versions']> {
  const shown: ReplayReport['price_versions'][number][] = []
  for (const [version, rows] of [...versions].toSorted(([left], [right]) => left - right)) {
    const rates = Object.entries(await catalog.ratesOf(version)).filter(([currency]) => currency !== 'RUB')
    shown.push({
      version,
      rows,
      rates: Object.fromEntries(rates.map(([currency, rate]) => [currency, decimalText(rate)])),
    })
  }
  return shown
}
