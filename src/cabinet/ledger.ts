import { dayRange } from '../http/day-range.ts'
import { choiceParameter, wholeParameter } from '../query-parameters.ts'
import type { HIJACKED } from '../http/edge.ts'
import { sendCsv } from '../http/sent-csv.ts'
import { focusCsv } from '../ledger/focus-export.ts'
import { statementOf, type Statement } from '../ledger/statement.ts'
import { rubles } from '../money.ts'
import { EntryFilter, type EntryPage } from './money-contract.ts'
import { cursorOf, type CabinetPorts, type Visit } from './ports.ts'
import { accountOf, moneyOf } from './summary.ts'
import { isoTime } from '../lib/time.ts'

/** Every entry of the account, newest first. */
export async function ledgerPage(ports: CabinetPorts, { call, accountId }: Visit): Promise<EntryPage> {
  const kind = choiceParameter(call.query, 'kind', EntryFilter)
  const limit = wholeParameter(call.query, 'limit', 1, 300) ?? 50
  const rows = await ports.store.entries.before({ accountId, kind, beforeId: cursorOf(call.query), limit })
  const data = rows.map((entry) => ({
    id: entry.id,
    at: isoTime(entry.createdAtMs),
    kind: entry.kind,
    amount: rubles(entry.amountMicro),
    reference: entry.reference,
    reason: entry.reason,
  }))
  return {
    data,
    next_cursor: rows.length < limit ? null : String(rows.at(-1)?.id ?? 0),
    ...moneyOf(await accountOf(ports, accountId)),
  }
}

/** The account's usage and cost by FOCUS. */
export function focusExport(ports: CabinetPorts, { call, accountId }: Visit): Promise<typeof HIJACKED> {
  const { timezone } = ports.catalog.current().settings
  const { from, to } = dayRange(call.query, ports.periods().day)
  const lines = focusCsv(ports.store.charges, { accountId, from, to, timezone })
  return sendCsv(call, `tollgate-focus-${from}-${to}.csv`, lines)
}

/** The same statement that the operator sees. */
export async function statement(ports: CabinetPorts, { call, accountId }: Visit): Promise<Statement> {
  const { timezone } = ports.catalog.current().settings
  const range = { ...dayRange(call.query, ports.periods().day), timezone, nowMs: ports.clock.now() }
  return statementOf(ports.store.statements, await accountOf(ports, accountId), range)
}
