import { compare, rubles } from '../../base/money.ts'
import { given } from '../../base/objects.ts'
import { choiceParameter, dayRange } from '../../base/query-parameters.ts'
import { timeRange } from '../../base/time-range.ts'
import { reasonError } from '../../base/refusals.ts'
import { DAY_MS, dayAfter, isoTime } from '../../base/time.ts'
import { wire } from '../../base/wire-route.ts'
import type { Model, Snapshot } from '../../catalog/catalog.ts'
import type { PeriodStarts } from '../../ledger/ledger-store.ts'
import { startOfDay } from '../../ledger/period.ts'
import type { AccountRecord } from '../../store/accounts/account-store.ts'
import type { KeyWithSpend } from '../../store/accounts/key-store.ts'
import type { LedgerFilter } from '../../store/ledger/entry-store.ts'
import type { RefusalSum } from '../../store/refusals/refusal-store.ts'
import { accountLimit, limitRemaining } from '../records/limits-body.ts'
import type { ListRange } from '../records/list-file.ts'
import { refusalSums } from '../records/refusals.ts'
import { type Statement, statementOf } from '../records/statement.ts'
import { isVisible, shownKeys, visibleTo } from './keys.ts'
import { Entry, EntryFilter, type EntryPage, type Money, type Summary } from './money-contract.ts'
import type { CabinetPorts, Visit } from './ports.ts'
import { byCost, everyDay, total, wireSums } from './usage.ts'

const DAYS = 30
const TOP_MODELS = 5
/** The most keys that the page names as near their limit or end. */
const NEAR_MOST = 50
const REFUSED_MOST = 10
const EXPIRES_SOON_MS = 7 * DAY_MS

/** The first page after signing in. */
export async function summary(ports: CabinetPorts, visit: Visit): Promise<Summary> {
  const { accountId } = visit
  const today = ports.periods().day
  const from = dayAfter(today, 1 - DAYS)
  const account = await accountOf(ports, accountId)
  const days = everyDay(await ports.store.log.days(accountId, from, today), from, today)
  const rows = await ports.store.log.grouped(accountId, 'model', from, today)
  const since = (day: string): ReturnType<typeof wireSums> => wireSums(total(rows.filter((row) => row.day >= day)))
  const visible = visibleTo(visit)
  const keys = await ports.store.keys.lists.sums(visible, ports.periods())
  const soon = { beforeMs: ports.clock.now() + EXPIRES_SOON_MS, most: NEAR_MOST }
  const found = await ports.store.keys.lists.nearEnd(visible, ports.periods(), soon)
  const { timezone } = ports.catalog.current().settings
  const refused = await ports.store.refusals.sums(accountId, startOfDay(today, timezone), REFUSED_MOST)
  const ended = found.filter((one) => isNearEnd(one, ports.periods(), soon.beforeMs))
  const near = [...ended, ...(await tooSmall(ports, visit, refused, ended))]
  return {
    money: moneyOf(account),
    account_limit: limitOf(ports, account),
    today: since(today),
    last_7_days: since(dayAfter(today, -6)),
    last_30_days: since(from),
    days,
    top_models: byCost(rows, ({ group }) => group)
      .slice(0, TOP_MODELS)
      .map(({ id, sums }) => ({ model: id, ...wireSums(sums) })),
    keys_near_limit: await shownKeys(ports, visit, near),
    refused_today: refusalSums(refused),
    keys: keys.keys,
    has_requests: rows.length > 0 || keys.hasUsed,
    example_model: exampleModel(ports.catalog.current(), account),
  }
}

export async function accountOf({ store }: CabinetPorts, accountId: string): Promise<AccountRecord> {
  const account = await store.accounts.get(accountId)
  if (account === null) throw reasonError('account_missing')
  return account
}

function moneyOf(account: AccountRecord): Money {
  return {
    balance: rubles(account.availableMicro + account.heldMicro),
    available: rubles(account.availableMicro),
    reserved: rubles(account.heldMicro),
  }
}

function limitOf(ports: CabinetPorts, account: AccountRecord): Summary['account_limit'] {
  const { timezone } = ports.catalog.current().settings
  if (account.limitMicro === null) return null
  return accountLimit(account, { periods: ports.periods(), atMs: ports.clock.now(), timezone })
}

function isNearEnd({ key, spend }: KeyWithSpend, periods: PeriodStarts, beforeMs: number): boolean {
  if (key.expiresAtMs !== null && key.expiresAtMs < beforeMs) return true
  const left = limitRemaining(key, spend, periods)
  return key.limitMicro !== null && left !== null && 5n * left <= key.limitMicro
}

/** Keys whose limit has less left than a request needed that was refused for it. */
async function tooSmall(
  { store, periods }: CabinetPorts,
  visit: Visit,
  refused: readonly RefusalSum[],
  known: readonly KeyWithSpend[],
): Promise<readonly KeyWithSpend[]> {
  const needs = new Map(
    refused.flatMap(({ newest: { cause, keyId, figures } }) =>
      cause === 'limit_exceeded' && figures['limit_of'] !== 'account' ? [[keyId, Number(figures['required'])]] : [],
    ),
  )
  for (const { key } of known) needs.delete(key.id)
  const keys = await Promise.all([...needs.keys()].map((id) => store.keys.lists.one(id, periods())))
  return keys.flatMap((one) => {
    if (one === null || one.key.disabled || !isVisible(visit, one)) return []
    const left = limitRemaining(one.key, one.spend, periods())
    return left !== null && rubles(left) < (needs.get(one.key.id) ?? 0) ? [one] : []
  })
}

/** The sandbox costs least and says nothing of what is sold, so it is the example only while there is nothing else. */
function exampleModel({ models, aliases }: Snapshot, { defaultModel, allowedModels }: AccountRecord): string | null {
  const chats = [...models.values()].filter(
    ({ id, type, hidden }) => type === 'chat' && !hidden && (allowedModels === null || allowedModels.includes(id)),
  )
  const isSandbox = ({ endpoints }: Model): boolean => endpoints.every(({ provider }) => provider.adapter === 'sandbox')
  const sold = chats.filter((model) => !isSandbox(model))
  const chosen = models.get(aliases.get(defaultModel ?? '') ?? defaultModel ?? '')
  if (chosen !== undefined && (sold.length === 0 || !isSandbox(chosen))) return defaultModel
  const [cheapest] = (sold.length > 0 ? sold : chats).toSorted((left, right) => {
    const [a, b] = [left.endpoints[0], right.endpoints[0]]
    return a === undefined || b === undefined ? 0 : compare(a.sell.output, b.sell.output)
  })
  return cheapest?.id ?? null
}

export function ledgerFilter(query: URLSearchParams): LedgerFilter {
  return { ...given({ kind: choiceParameter(query, 'kind', EntryFilter) }), ...timeRange(query) }
}

/** Entries of the account, newest first. */
export async function ledgerPage(
  ports: CabinetPorts,
  { call, accountId }: Visit,
  range: ListRange,
): Promise<EntryPage> {
  const { data, total, next = null } = await ports.store.entries.list(accountId, range, ledgerFilter(call.query))
  const payments = await ports.store.payments.ofEntries(accountId, data)
  return {
    data: data.map((entry) =>
      wire(Entry, entry, { at: isoTime(entry.createdAtMs), payment: payments.get(entry.reference) ?? null }),
    ),
    total,
    next_cursor: next,
    ...moneyOf(await accountOf(ports, accountId)),
  }
}

/** The same statement that the operator sees. */
export async function statement(ports: CabinetPorts, { call, accountId }: Visit): Promise<Statement> {
  const { timezone } = ports.catalog.current().settings
  const range = { ...dayRange(call.query, ports.periods().day), timezone, nowMs: ports.clock.now() }
  return statementOf(ports.store.statements, await accountOf(ports, accountId), range)
}
