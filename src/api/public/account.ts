import type { Principal } from '../../access/principal.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { ApiError } from '../../base/errors.ts'
import type { Call, Reply, Route } from '../../http/edge.ts'
import type { PeriodStarts } from '../../ledger/ledger-store.ts'
import { limitFieldsOf, limitRemaining, NOTHING_SPENT, usageOf } from '../records/limits-body.ts'
import type { KeySpend } from '../../store/accounts/key-lists.ts'
import type { KeyRecord } from '../../store/accounts/key-store.ts'
import { periodEndMs } from '../../ledger/period.ts'
import type { Clock } from '../../base/clock.ts'
import { rubles } from '../../base/money.ts'
import type { Store } from '../../store/store.ts'
import { isoSeconds, isoTime } from '../../base/time.ts'

export interface AccountRoutePorts {
  readonly store: Pick<Store, 'accounts' | 'keys' | 'managementKeys' | 'entries'>
  readonly catalog: Catalog
  readonly clock: Clock
  readonly periods: () => PeriodStarts
}

type ShownKey = Pick<KeyRecord, 'id' | 'label' | 'name' | 'limitMicro' | 'limitReset' | 'expiresAtMs' | 'limits'>

/** Balance, credits and key of the caller, always for the principal's own account. */
export function accountRoutes(ports: AccountRoutePorts): readonly Route<Principal>[] {
  const get = (
    path: string,
    handle: (ports: AccountRoutePorts, principal: Principal) => Promise<Reply>,
  ): Route<Principal> => ({
    method: 'GET',
    path,
    plane: handle === key ? 'any_key' : 'key',
    body: 'none',
    handle: (call) => handle(ports, principalOf(call)),
  })
  return [get('/v1/user/balance', balance), get('/v1/credits', credits), get('/v1/key', key), get('/v1/auth/key', key)]
}

export function principalOf(call: Call<Principal>): Principal {
  if (call.principal === null) throw new Error('A route of the key plane has a principal.')
  return call.principal
}

async function balance({ store }: AccountRoutePorts, principal: Principal): Promise<Reply> {
  const account = await store.accounts.get(principal.accountId)
  if (account === null) throw new ApiError('invalid_api_key', 'Invalid API key')
  const body = {
    user: account.id,
    balance: rubles(account.availableMicro + account.heldMicro),
    currency: 'RUB',
    reserved: rubles(account.heldMicro),
    available: rubles(account.availableMicro),
  }
  return { status: 200, body }
}

async function credits({ store }: AccountRoutePorts, principal: Principal): Promise<Reply> {
  const totals = await store.entries.totals(principal.accountId)
  return {
    status: 200,
    body: {
      data: { total_credits: rubles(totals.creditsMicro), total_usage: rubles(totals.chargesMicro), currency: 'RUB' },
    },
  }
}

async function key(ports: AccountRoutePorts, principal: Principal): Promise<Reply> {
  if (principal.isManagement === true) return managementKey(ports, principal)
  const found = await ports.store.keys.get(principal.keyId, ports.periods())
  if (found === null) throw new ApiError('invalid_api_key', 'Invalid API key')
  return keyReply(ports, principal, found)
}

const UNLIMITED = { limitMicro: null, limitReset: null, limits: null } as const

/** A management key spends nothing. */
async function managementKey(ports: AccountRoutePorts, principal: Principal): Promise<Reply> {
  const found = await ports.store.managementKeys.get(principal.keyId)
  if (found === null) throw new ApiError('invalid_api_key', 'Invalid API key')
  return keyReply(ports, principal, { key: { ...found, ...UNLIMITED }, spend: NOTHING_SPENT })
}

function keyReply(
  ports: AccountRoutePorts,
  principal: Principal,
  { key: record, spend }: { readonly key: ShownKey; readonly spend: KeySpend },
): Reply {
  const { timezone } = ports.catalog.current().settings
  const remaining = limitRemaining(record, spend, ports.periods())
  const resetsAt =
    record.limitMicro === null || record.limitReset === null
      ? null
      : isoSeconds(periodEndMs(ports.clock.now(), record.limitReset, timezone))
  const data = {
    label: record.label,
    name: record.name,
    limit: record.limitMicro === null ? null : rubles(record.limitMicro),
    limit_reset: record.limitReset,
    limit_remaining: remaining === null ? null : rubles(remaining),
    limit_resets_at: resetsAt,
    ...usageOf(spend),
    currency: 'RUB',
    expires_at: isoTime(record.expiresAtMs),
    ...sharedFields(ports, principal),
    ...limitFieldsOf(record.limits),
  }
  return { status: 200, body: { data } }
}

/** Fields that OpenRouter's clients expect of both kinds of key. */
function sharedFields({ catalog }: AccountRoutePorts, principal: Principal) {
  const { accountId, rateLimit } = principal
  const isManagement = principal.isManagement === true
  const rate = rateLimit ?? catalog.current().settings.rateLimit
  return {
    is_free_tier: false,
    is_management_key: isManagement,
    is_provisioning_key: isManagement,
    include_byok_in_limit: false,
    byok_usage: 0,
    byok_usage_daily: 0,
    byok_usage_weekly: 0,
    byok_usage_monthly: 0,
    creator_user_id: accountId,
    organization_id: null,
    workspace_id: null,
    allowed_data_regions: ['global'],
    free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
    rate_limit: {
      requests: rate.requests,
      interval: `${rate.window}s`,
      note: 'Requests per sliding window; see X-RateLimit-* headers.',
    },
  }
}
