import type { Principal } from '../../access/principal.ts'
import { logRecord, searchNotes } from '../public/generation.ts'
import type { Route } from '../../http/edge.ts'
import { type GenerationRow, viewOf } from '../../ledger/generation-record.ts'
import { readLogFilter } from '../../ledger/log-filters.ts'
import { attemptsOf, invoiceOf, storyOf, tokensPerSecond } from '../records/request-story.ts'
import type { PageRange } from '../../store/page.ts'
import { listRoute, adminRoute, notFound, param, type AdminCall, type AdminPorts, type AdminAnswer } from './ports.ts'
import { listBody } from '../records/list-file.ts'
import type { RefusalRecord } from '../../store/refusals/refusal-store.ts'
import { readRefusalFilter, refusalView } from '../records/refusals.ts'
import type { Generation, OperatorRefusal } from './report-contract.ts'

/** The log of all accounts. */
export function logAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    listRoute(ports, 'GET /admin/v1/generations', ({ query }, range) => generations(ports, query, range)),
    listRoute(ports, 'GET /admin/v1/refusals', ({ query }, range) => refusals(ports, query, range)),
    adminRoute('GET /admin/v1/generations/:id', (call) => generation(ports, call)),
  ]
}

async function generations(
  ports: AdminPorts,
  query: URLSearchParams,
  range: PageRange,
): Promise<AdminAnswer<'GET /admin/v1/generations'>> {
  const found = await ports.store.generations.list({ ...readLogFilter(query, 'operator'), ...range })
  const names = await ports.store.accounts.names(new Set(found.data.map(({ accountId }) => accountId)))
  return { ...listBody(found, (row) => operatorRecord(row, names)), ...searchNotes(found) }
}

async function refusals(
  ports: AdminPorts,
  query: URLSearchParams,
  range: PageRange,
): Promise<AdminAnswer<'GET /admin/v1/refusals'>> {
  const accountId = query.get('account')
  const filter = { ...readRefusalFilter(query), ...(accountId === null ? {} : { accountId }) }
  const found = await ports.store.refusals.list(range, filter)
  const names = await ports.store.accounts.names(new Set(found.data.map((row) => row.accountId)))
  return listBody(found, (row) => operatorRefusal(row, names))
}

export function operatorRefusal(row: RefusalRecord, names: ReadonlyMap<string, string>): OperatorRefusal {
  return { ...refusalView(row), account_name: names.get(row.accountId) ?? '' }
}

async function generation(ports: AdminPorts, call: AdminCall): Promise<AdminAnswer<'GET /admin/v1/generations/:id'>> {
  const id = param(call, 'id')
  const row = await ports.store.generations.get(id)
  if (row === null) throw notFound('Generation', id)
  const { accounts, log } = ports.store
  const [names, hold, prices] = [
    await accounts.names(new Set([row.accountId])),
    await log.hold(row.generationId),
    await ports.catalog.pricesOf(row),
  ]
  const provider = invoiceOf(row.reportedUsage ?? row.usage, prices?.billed.sheet ?? null, {
    bookedMicro: row.providerCostMicro,
    notCoveredMicro: 0n,
    insuredMicro: row.insuredMicro,
  })
  const body = {
    ...operatorRecord(row, names),
    native_finish_reason: row.nativeFinishReason,
    session_id: row.sessionId,
    tries: attemptsOf(row).map(({ isTold: _isTold, ...attempt }) => attempt),
    ...storyOf(row, prices, {
      hold,
      credit: await ports.store.entries.booked(row.accountId, 'adjustment', row.generationId),
    }),
    provider_bill: provider.lines,
    provider_bill_total: provider.total,
    provider_bill_adjustments: provider.adjustments,
    tokens_per_second: tokensPerSecond(row),
  }
  return body
}

function operatorRecord(row: GenerationRow, names: ReadonlyMap<string, string>): Generation {
  return { ...logRecord(row), ...viewOf(row, 'operator'), account_name: names.get(row.accountId) ?? '' }
}
