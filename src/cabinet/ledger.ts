import { fieldError } from '../errors.ts'
import { dayRange } from '../http/day-range.ts'
import { wholeParameter } from '../http/query.ts'
import { statementOf, type Statement } from '../ledger/statement.ts'
import { rubles } from '../money.ts'
import type { EntryRecord } from '../store/store.ts'
import type { Cursored, Entry, EntryKind, Money } from './contract.ts'
import { cursorOf, iso, type CabinetPorts, type Visit } from './ports.ts'
import { accountOf, moneyOf } from './summary.ts'

const KINDS = ['topup', 'refund', 'adjustment', 'charge', 'money'] as const

/** Every entry of the account, newest first. */
export async function ledgerPage(ports: CabinetPorts, { call, accountId }: Visit): Promise<Cursored<Entry> & Money> {
  const text = call.query.get('kind')
  const kind = KINDS.find((name) => name === text) ?? null
  if (text !== null && kind === null)
    throw fieldError('kind', 'one_of', { allowed: KINDS.join(', ') }, `must be one of ${KINDS.join(', ')}`)
  const limit = wholeParameter(call.query, 'limit', 1, 300) ?? 50
  const rows = await ports.store.entries.before({ accountId, kind, beforeId: cursorOf(call.query), limit })
  const data = rows.map((entry) => ({
    id: entry.id,
    at: iso(entry.createdAtMs),
    kind: kindOf(entry),
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

/** The store answers an account's own kinds alone. */
function kindOf({ kind }: EntryRecord): EntryKind {
  if (kind === 'shortfall' || kind === 'insured') throw new Error(`An entry of kind ${kind} is not the account's.`)
  return kind
}

/** As the operator sees it too. */
export async function statement(ports: CabinetPorts, { call, accountId }: Visit): Promise<Statement> {
  const { timezone } = ports.catalog.current().settings
  const range = { ...dayRange(call.query, ports.periods().day), timezone, nowMs: ports.clock.now() }
  return statementOf(ports.store.statements, await accountOf(ports, accountId), range)
}
