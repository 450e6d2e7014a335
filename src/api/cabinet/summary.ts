import type { Snapshot } from '../../catalog/catalog.ts'
import { accountLimit } from '../records/account-limit-body.ts'
import { reasonError } from '../../base/refusals.ts'
import { rubles, compare } from '../../base/money.ts'
import type { AccountRecord } from '../../store/accounts/account-store.ts'
import type { Key } from './key-contract.ts'
import type { Money } from './money-contract.ts'
import type { Summary } from './summary-contract.ts'
import { shownKeys, visibleKeys } from '../../cabinet/keys.ts'
import type { CabinetPorts, Visit } from '../../cabinet/ports.ts'
import { byCost, everyDay, total, wireSums } from './sums.ts'
import { DAY_MS, dayAfter } from '../../base/time.ts'

const DAYS = 30
const TOP_MODELS = 5
const NEAR_SHARE = 0.8
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
  const keys = await shownKeys(ports, await visibleKeys(ports, visit))
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
    keys_near_limit: keys.filter((key) => nearLimit(key, ports.clock.now())),
    keys: keys.length,
    has_requests: rows.length > 0 || keys.some(({ last_used_at: used }) => used !== null),
    example_model: exampleModel(ports.catalog.current(), account),
  }
}

export async function accountOf({ store }: CabinetPorts, accountId: string): Promise<AccountRecord> {
  const account = await store.accounts.get(accountId)
  if (account === null) throw reasonError('access_denied', 'account_missing', {}, 'This user has no account')
  return account
}

export function moneyOf(account: AccountRecord): Money {
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

function nearLimit(
  { limit, limit_remaining: remaining, expires_at: expiresAt, disabled }: Key,
  nowMs: number,
): boolean {
  if (disabled) return false
  if (expiresAt !== null && Date.parse(expiresAt) - nowMs < EXPIRES_SOON_MS) return true
  return limit !== null && remaining !== null && remaining <= limit * (1 - NEAR_SHARE)
}

function exampleModel({ models, aliases }: Snapshot, { defaultModel, allowedModels }: AccountRecord): string | null {
  if (defaultModel !== null && (models.has(defaultModel) || aliases.has(defaultModel))) return defaultModel
  const chats = [...models.values()].filter(
    ({ id, type, hidden }) => type === 'chat' && !hidden && (allowedModels === null || allowedModels.includes(id)),
  )
  const [cheapest] = chats.toSorted((left, right) => {
    const [a, b] = [left.endpoints[0], right.endpoints[0]]
    return a === undefined || b === undefined ? 0 : compare(a.sell.output, b.sell.output)
  })
  return cheapest?.id ?? null
}
