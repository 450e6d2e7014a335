import { createHash } from 'node:crypto'
import { MICRO_PER_RUB, rubles, type Micro } from '../base/money.ts'
import type { NoticeKind } from '../tables/notice-table.ts'
import type { PlainSettings } from '../tables/settings-table.ts'
import { isLive, type JobMove } from './job.ts'
import type { EventAction } from './event-action.ts'
import type { NewNotice, AccountRow, HoldRow, KeyRow, LedgerRows, LimitReset, SpendKey } from './ledger-store.ts'
import { accountPeriod, accountSpent, keySpent, limitPeriod } from './hold-rules.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../base/time.ts'

/** Events of the audit log that cause notices. */
const EVENT_KINDS: ReadonlyMap<EventAction, 'usage.flagged' | 'rates.held' | 'prices.held'> = new Map([
  ['usage.flagged', 'usage.flagged'],
  ['rates.failed', 'rates.held'],
  ['rates.refused', 'rates.held'],
  ['prices.held', 'prices.held'],
  ['prices.failed', 'prices.held'],
])
const NEAR_PERCENT = 80n
const NONE: readonly NewNotice[] = []
const NO_LIMITS: readonly LimitSpending[] = []
const ID_LETTERS = 24

/** The id of a notice. Equal causes have equal ids, so that a repeated write does nothing. */
export function noticeId(kind: NoticeKind, cause: string): string {
  const digest = createHash('sha256').update(`${kind} ${cause}`).digest('base64url')
  return `ntc_${digest.replaceAll(/[-_]/g, '').slice(0, ID_LETTERS)}`
}

/** Makes a notice. `cause`: see `noticeId`; absent = the subject. */
function noticeOf(
  kind: NoticeKind,
  told: Pick<NewNotice, 'atMs' | 'detail'> &
    Partial<Pick<NewNotice, 'accountId' | 'clearAtMicro'>> &
    ({ readonly subject: string; readonly cause?: string } | { readonly subject: null; readonly cause: string }),
): NewNotice {
  const { accountId = null, subject, clearAtMicro = null, atMs, detail } = told
  const cause = told.subject === null ? told.cause : (told.cause ?? told.subject)
  return { id: noticeId(kind, cause), kind, accountId, subject, clearAtMicro, atMs, detail }
}

/** The balance before and after a change, and the amount below which it is low. */
export interface BalanceChange {
  readonly accountId: string
  readonly beforeMicro: Micro
  readonly afterMicro: Micro
  readonly lowMicro: Micro
}

/**
 * null = the balance is not low, or was low before. The next notice needs a balance that was a tenth above the
 * threshold meanwhile.
 */
export function lowBalance(
  { accountId, beforeMicro, afterMicro, lowMicro }: BalanceChange,
  cause: string,
  atMs: number,
): NewNotice | null {
  if (!becomesLow(beforeMicro, afterMicro, lowMicro)) return null
  return noticeOf('balance.low', {
    cause,
    accountId,
    subject: lowBalanceSubject(accountId),
    clearAtMicro: lowMicro + lowMicro / 10n,
    atMs,
    detail: { balance: rubles(afterMicro), threshold: rubles(lowMicro) },
  })
}

function becomesLow(beforeMicro: Micro, afterMicro: Micro, lowMicro: Micro): boolean {
  return afterMicro < lowMicro && beforeMicro >= lowMicro
}

export function lowBalanceSubject(accountId: string): string {
  return `balance.low ${accountId}`
}

/** Prices of models that the account uses will be others; told once of each change. */
export function comingPricesNotice(
  accountId: string,
  changeId: string,
  detail: NewNotice['detail'],
  atMs: number,
): NewNotice {
  return noticeOf('prices.coming', { accountId, subject: null, cause: `${changeId} ${accountId}`, atMs, detail })
}

/** The first refusals of a key for a cause after a quiet time. `keyId` is empty for several keys. */
export function refusedRequests(refused: {
  readonly accountId: string
  readonly keyId: string
  readonly cause: string
  readonly times: number
  readonly atMs: number
}): NewNotice {
  const { accountId, keyId, cause, times, atMs } = refused
  const detail = { ...(keyId === '' ? {} : { key: keyId }), error_type: cause, requests: times }
  // Two nodes that hear of them at once tell it once.
  const minute = Math.floor(atMs / MINUTE_MS)
  return noticeOf('requests.refused', {
    accountId,
    subject: null,
    cause: `${accountId} ${keyId} ${cause} ${minute}`,
    atMs,
    detail,
  })
}

/** The kind of notice for a spending that now reaches 80 or 100 % of the limit and did not before; null = none. */
function limitKind(limitMicro: Micro, beforeMicro: Micro, afterMicro: Micro): 'limit.near' | 'limit.reached' | null {
  if (afterMicro >= limitMicro) return beforeMicro < limitMicro ? 'limit.reached' : null
  return isNearLimit(limitMicro, beforeMicro) ? null : 'limit.near'
}

function isNearLimit(limitMicro: Micro, spentMicro: Micro): boolean {
  return spentMicro * 100n >= limitMicro * NEAR_PERCENT
}

/** The spending of a key, or of an account, in the period of its limit. */
interface LimitSpending {
  readonly accountId: string
  /** Absent = the limit is the account's. */
  readonly keyId?: string
  readonly limitReset: LimitReset | null
  readonly period: Omit<SpendKey, 'keyId'>
  readonly limitMicro: Micro
  readonly afterMicro: Micro
}

/** null = the charge does not pass 80 or 100 % of the limit. */
function limitNotice(spending: LimitSpending, chargedMicro: Micro, atMs: number): NewNotice | null {
  const { limitMicro, afterMicro } = spending
  const kind = limitKind(limitMicro, afterMicro - chargedMicro, afterMicro)
  return kind === null ? null : ofLimit(kind, spending, atMs)
}

function ofLimit(
  kind: 'limit.near' | 'limit.reached',
  { accountId, keyId, limitReset, period, limitMicro, afterMicro }: LimitSpending,
  atMs: number,
): NewNotice {
  // A limit that was changed counts as a new one.
  const subject = `${kind} ${keyId ?? accountId} ${period.period} ${period.start} ${limitMicro}`
  const detail = { limit: rubles(limitMicro), limit_reset: limitReset, spent: rubles(afterMicro) }
  return noticeOf(kind, { accountId, subject, atMs, detail: keyId === undefined ? detail : { key: keyId, ...detail } })
}

/** The limits of key and account of which at least 80 % are spent. */
function nearLimits(charge: Charge, spends: LedgerRows['spends']): readonly LimitSpending[] {
  const { hold, account, key } = charge
  if (key.limitMicro === null && account.limitMicro === null) return NO_LIMITS
  const of = (
    { limitMicro, limitReset }: Pick<KeyRow, 'limitMicro' | 'limitReset'>,
    period: LimitSpending['period'] | null,
    afterMicro: Micro,
  ): Omit<LimitSpending, 'accountId'>[] =>
    limitMicro === null || period === null || !isNearLimit(limitMicro, afterMicro)
      ? []
      : [{ limitReset, period, limitMicro, afterMicro }]
  const { id: accountId } = account
  const ofKey = of(key, limitPeriod(key, hold.periods), keySpent(key, hold.periods, spends))
  const ofAccount = of(account, accountPeriod(account, hold.periods), accountSpent(account, hold.periods, spends))
  return [
    ...ofKey.map((spending) => ({ ...spending, accountId, keyId: key.id })),
    ...ofAccount.map((spending) => ({ ...spending, accountId })),
  ]
}

/** Sent once for each account and day. */
function shortfallNotice(hold: HoldRow, shortfallMicro: Micro, atMs: number): NewNotice {
  const subject = `shortfall ${hold.accountId} ${hold.periods.day}`
  return noticeOf('shortfall', {
    accountId: hold.accountId,
    subject,
    atMs,
    detail: { generation: hold.id, model: hold.subject.model, shortfall: rubles(shortfallMicro) },
  })
}

/** No notices while the job continues. */
export function jobNotices(hold: HoldRow, move: JobMove | undefined, atMs: number): readonly NewNotice[] {
  if (move === undefined) return NONE
  if (isLive(move.state)) return NONE
  const detail = { job: move.id, model: hold.subject.model, status: move.state.status }
  return [noticeOf('job.ended', { cause: move.id, accountId: hold.accountId, subject: null, atMs, detail })]
}

/** A charge, with account and key in their state after it. */
interface Charge {
  readonly hold: HoldRow
  readonly account: AccountRow
  readonly key: KeyRow
  readonly chargedMicro: Micro
  readonly shortfallMicro: Micro
  readonly atMs: number
}

/** Compares only what the batch knows: no row is read for notices, and one is written only if a threshold is passed. */
export function chargeNotices(
  charge: Charge,
  spends: LedgerRows['spends'],
  serviceLowMicro: Micro,
): readonly NewNotice[] {
  const { hold, account, chargedMicro, shortfallMicro, atMs } = charge
  const lowMicro = account.lowBalanceMicro ?? serviceLowMicro
  const afterMicro = account.availableMicro + account.heldMicro
  const beforeMicro = afterMicro + chargedMicro
  const near = nearLimits(charge, spends)
  if (!becomesLow(beforeMicro, afterMicro, lowMicro) && near.length === 0 && shortfallMicro === 0n) return NONE
  const balance = { accountId: account.id, beforeMicro, afterMicro, lowMicro }
  return [
    lowBalance(balance, hold.id, atMs),
    ...near.map((spending) => limitNotice(spending, chargedMicro, atMs)),
    shortfallMicro === 0n ? null : shortfallNotice(hold, shortfallMicro, atMs),
  ].filter((notice) => notice !== null)
}

export const RATES_HELD = 'rates.held'

/**
 * The notice of an event of the audit log: of doubtful usage once for each hour and provider, of held rates until they
 * are current again, of held prices when they change.
 */
export function noticeOfEvent({
  action,
  object,
  atMs,
  after,
}: {
  readonly action: EventAction
  readonly object: string
  readonly atMs: number
  readonly after: string | null
}): NewNotice | null {
  const kind = EVENT_KINDS.get(action)
  if (kind === undefined) return null
  const subject = kind === 'rates.held' ? RATES_HELD : `${kind} ${object} ${Math.floor(atMs / HOUR_MS)}`
  // This program wrote the text of an object.
  const told = (after === null ? {} : JSON.parse(after)) as Readonly<Record<string, unknown>>
  if (kind === 'prices.held') {
    // The whole list stays in the audit log.
    const { changes, model, accounts, reason } = told
    const detail = { provider: object, action, changes, model, accounts, ...(reason === undefined ? {} : { reason }) }
    return noticeOf(kind, { cause: `${object} ${atMs}`, subject: null, atMs, detail })
  }
  const detail = kind === 'rates.held' ? { action, ...told } : { provider: object, ...told }
  return noticeOf(kind, { cause: `${subject} ${atMs}`, subject, atMs, detail })
}

/** Sent once a day, whoever runs the audit. null = the books are right. */
export function auditNotice(
  checks: readonly { readonly id: string; readonly violations: readonly string[] }[],
  atMs: number,
): NewNotice | null {
  const broken = checks.filter(({ violations }) => violations.length > 0).map(({ id }) => id)
  if (broken.length === 0) return null
  const kind = 'audit.violation'
  const subject = `${kind} ${Math.floor(atMs / DAY_MS)}`
  return noticeOf(kind, { subject, atMs, detail: { checks: broken } })
}

/** A provider refuses one of its keys; sent once a day. */
export function keyRefusedNotice(
  {
    provider,
    key,
    keys,
    status,
  }: { readonly provider: string; readonly key: number; readonly keys: number; readonly status: number | null },
  atMs: number,
): NewNotice {
  const kind = 'provider.key_refused'
  const subject = `${kind} ${provider} ${key} ${Math.floor(atMs / DAY_MS)}`
  const detail = { provider, key, keys, status }
  return noticeOf(kind, { subject, atMs, detail })
}

export function providerBalanceSubject(provider: string, key: number): string {
  return `provider.balance_low ${provider} ${key}`
}

/**
 * The balance with a provider is low; sent again only after it was a tenth above the threshold. Amounts are in
 * `currency`.
 */
export function providerBalanceNotice(
  detail: {
    readonly provider: string
    readonly key: number
    readonly keys: number
    readonly balance: number
    readonly threshold: number
    readonly currency: string
  },
  atMs: number,
): NewNotice {
  const subject = providerBalanceSubject(detail.provider, detail.key)
  return noticeOf('provider.balance_low', { cause: `${subject} ${atMs}`, subject, atMs, detail })
}

/**
 * An endpoint was taken out of service because it fails; sent once an hour. `endpointId`: `<provider>/<its name of the
 * model>`.
 */
export function failingNotice(endpointId: string, atMs: number): NewNotice {
  const kind = 'provider.failing'
  const slash = endpointId.indexOf('/')
  const detail = { provider: endpointId.slice(0, slash), model: endpointId.slice(slash + 1) }
  return noticeOf(kind, { subject: `${kind} ${endpointId} ${Math.floor(atMs / HOUR_MS)}`, atMs, detail })
}

/** The balance below which an account is low unless it has a threshold of its own; 0 = no account is. */
export function serviceLowBalance({ notices }: Pick<PlainSettings, 'notices'>): Micro {
  return BigInt(notices.low_balance) * MICRO_PER_RUB
}
