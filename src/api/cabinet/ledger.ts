import { dayRange, choiceParameter } from '../../base/query-parameters.ts'
import { statementOf, type Statement } from '../records/statement.ts'
import { fieldError } from '../../base/refusals.ts'
import type { LedgerEntry, LedgerFilter } from '../../store/ledger/entry-store.ts'
import { Entry, EntryFilter, type EntryPage } from './money-contract.ts'
import type { ListRange } from '../records/list-file.ts'
import type { CabinetPorts, Visit } from './ports.ts'
import { accountOf, moneyOf } from './summary.ts'
import { isoTime } from '../../base/time.ts'
import { wire } from '../../base/wire-route.ts'

/** A page begins below an entry, and its balances are computed from the balance before that entry. */
const CURSOR = /^(\d{1,15})(?:_(-?\d{1,19}))?$/

/** Every entry of the account, newest first. */
export async function ledgerPage(
  ports: CabinetPorts,
  { call, accountId }: Visit,
  { limit, cursor }: ListRange,
): Promise<EntryPage> {
  const kind = choiceParameter(call.query, 'kind', EntryFilter)
  const rows = await ports.store.entries.before({ accountId, kind, before: beforeOf(cursor), limit })
  const data = rows.map((entry) => wire(Entry, entry, { at: isoTime(entry.createdAtMs) }))
  return {
    data,
    next_cursor: rows.length < limit ? null : nextOf(rows.at(-1)),
    ...moneyOf(await accountOf(ports, accountId)),
  }
}

function beforeOf(text: string | null): LedgerFilter['before'] {
  if (text === null) return null
  const [, id, balance] = CURSOR.exec(text) ?? []
  if (id === undefined) throw fieldError('cursor', 'cursor')
  return { id: Number(id), balanceMicro: balance === undefined ? null : BigInt(balance) }
}

function nextOf(last: LedgerEntry | undefined): string | null {
  if (last === undefined) return null
  return last.balanceMicro === null ? String(last.id) : `${last.id}_${last.balanceMicro - last.amountMicro}`
}

/** The same statement that the operator sees. */
export async function statement(ports: CabinetPorts, { call, accountId }: Visit): Promise<Statement> {
  const { timezone } = ports.catalog.current().settings
  const range = { ...dayRange(call.query, ports.periods().day), timezone, nowMs: ports.clock.now() }
  return statementOf(ports.store.statements, await accountOf(ports, accountId), range)
}
