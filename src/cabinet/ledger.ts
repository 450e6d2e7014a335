import { ApiError } from '../errors.ts'
import { dayRange } from '../http/day-range.ts'
import { wholeParameter } from '../http/query.ts'
import { periodStarts, startOfDay } from '../ledger/period.ts'
import { rubles, type Micro } from '../money.ts'
import type { EntryRecord } from '../store/store.ts'
import type { Cursored, Entry, EntryKind, Money, Statement } from './contract.ts'
import { cursorOf, iso, type CabinetPorts, type Visit } from './ports.ts'
import { accountOf, moneyOf } from './summary.ts'

const KINDS = ['topup', 'refund', 'adjustment', 'charge', 'money'] as const

/** Every entry of the account, newest first. */
export async function ledgerPage(ports: CabinetPorts, { call, accountId }: Visit): Promise<Cursored<Entry> & Money> {
  const text = call.query.get('kind')
  const kind = KINDS.find((name) => name === text) ?? null
  if (text !== null && kind === null) throw new ApiError('invalid_input', `kind: must be one of ${KINDS.join(', ')}`)
  const limit = wholeParameter(call.query, 'limit', 1, 300) ?? 50
  const rows = await ports.store.entries.before({ accountId, kind, beforeId: cursorOf(call.query), limit })
  const data = rows.map((entry) => ({ id: entry.id, at: iso(entry.createdAtMs), kind: kindOf(entry), amount: rubles(entry.amountMicro), reference: entry.reference, reason: entry.reason }))
  return { data, next_cursor: rows.length < limit ? null : String(rows.at(-1)?.id ?? 0), ...moneyOf(await accountOf(ports, accountId)) }
}

/** The store answers an account's own kinds alone. */
function kindOf({ kind }: EntryRecord): EntryKind {
  if (kind === 'shortfall' || kind === 'insured') throw new Error(`An entry of kind ${kind} is not the account's.`)
  return kind
}

interface Line {
  readonly day: string
  readonly kind: EntryKind
  readonly text: string
  readonly requests: number | null
  readonly amountMicro: Micro
}

/** Opening + lines = closing. It is reckoned back from today's balance, so that no old charge is read. */
export async function statement(ports: CabinetPorts, { call, accountId }: Visit): Promise<Statement> {
  const { from, to } = dayRange(call.query, ports.periods().day)
  const { timezone } = ports.catalog.current().settings
  const account = await accountOf(ports, accountId)
  const lines = (await linesSince(ports, accountId, from, timezone)).toSorted((left, right) => (left.day < right.day ? -1 : left.day > right.day ? 1 : 0))
  const within = lines.filter(({ day }) => day <= to)
  const closing = account.availableMicro + account.heldMicro - sum(lines.filter(({ day }) => day > to))
  const totals = (kind: EntryKind): number => rubles(sum(within.filter((line) => line.kind === kind)))
  return {
    account: { id: account.id, name: account.name, email: account.email },
    from,
    to,
    issued_at: iso(ports.clock.now()),
    opening: rubles(closing - sum(within)),
    closing: rubles(closing),
    totals: { topup: totals('topup'), refund: totals('refund'), adjustment: totals('adjustment'), charge: totals('charge') },
    lines: within.map(({ day, kind, text, requests, amountMicro }) => ({ day, kind, text, requests, amount: rubles(amountMicro) })),
  }
}

async function linesSince({ store }: CabinetPorts, accountId: string, from: string, timezone: string): Promise<readonly Line[]> {
  const charges = (await store.entries.chargesSince(accountId, from)).filter(({ amountMicro }) => amountMicro !== 0n)
  const money = (await store.entries.moneySince(accountId, startOfDay(from, timezone))).map((entry) => ({
    day: periodStarts(entry.createdAtMs, timezone).day, kind: kindOf(entry), text: entry.reason ?? entry.reference, requests: null, amountMicro: entry.amountMicro,
  }))
  return [...money, ...charges.map(({ day, model, requests, amountMicro }) => ({ day, kind: 'charge' as const, text: model, requests, amountMicro: -amountMicro }))]
}

function sum(lines: readonly Line[]): Micro {
  return lines.reduce((total, { amountMicro }) => total + amountMicro, 0n)
}
