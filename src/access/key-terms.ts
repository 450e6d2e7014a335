import { isDeepStrictEqual } from 'node:util'
import { differing, isEmpty } from '../base/objects.ts'
import type { PeriodStarts } from '../ledger/ledger-store.ts'
import type { IdSource } from '../base/ids.ts'
import { microOf, type Micro } from '../base/money.ts'
import { ApiError } from '../base/errors.ts'
import { fieldError, reasonError } from '../base/refusals.ts'
import {
  type KeyLimits,
  type KeyPatch,
  type KeyRecord,
  type KeyStore,
  NO_LIMITS,
  type NewKey,
  TooManyKeysError,
  limitsOrNull,
} from '../store/accounts/key-store.ts'
import { isIpRange } from '../http/client-ip.ts'
import { digestOf, generateKey, labelOf } from './api-key.ts'

const SHOWN_CHARS = 80

const ID_LETTERS = 16
/** How long a replaced secret still works if the body does not say. */
const GRACE_SECONDS = 86_400
/** The most keys that people and their programs may make: more are needed only by mistake. */
const KEYS_MAX = 500
/** The same for the operator's programs, such as one that makes a key for each of its own customers. */
export const OPERATOR_KEYS_MAX = 10_000

/** The terms of a key in a body from an operator or its owner; absent = not given. */
export interface KeyTerms extends LimitTerms {
  readonly name?: string | null
  readonly disabled?: boolean
  /** RUB. */
  readonly limit?: number | null
  readonly limit_reset?: KeyRecord['limitReset']
  /** ISO 8601. */
  readonly expires_at?: string | null
  readonly allowed_models?: readonly string[] | null
}

/** The new key that a body describes, and its text, which is shown once. */
export function newKey(
  terms: KeyTerms & { readonly name: string },
  accountId: string,
  ids: IdSource,
  nowMs: number,
): { readonly key: string; readonly record: NewKey } {
  const key = generateKey(ids)
  const record = {
    id: `key_${ids.letters(ID_LETTERS)}`,
    accountId,
    name: terms.name,
    digest: digestOf(key),
    label: labelOf(key),
    limitMicro: limitOf(terms) ?? null,
    limitReset: terms.limit_reset ?? null,
    expiresAtMs: expiryOf(terms) ?? null,
    allowedModels: terms.allowed_models ?? null,
    limits: limitsOrNull({ ...NO_LIMITS, ...limitsOf(terms) }),
    createdAtMs: nowMs,
  }
  if (record.limitReset !== null && record.limitMicro === null) throw fieldError('limit_reset', 'needs_limit')
  return { key, record }
}

/** Gives a key a new secret as the body says; returns its text, which is shown once. */
export async function newSecret(
  keys: Pick<KeyStore, 'rotate'>,
  id: string,
  { grace_seconds: graceSeconds }: { readonly grace_seconds?: number | null },
  ids: IdSource,
  nowMs: number,
): Promise<string> {
  const key = generateKey(ids)
  const rotation = {
    digest: digestOf(key),
    label: labelOf(key),
    atMs: nowMs,
    graceUntilMs: nowMs + (graceSeconds ?? GRACE_SECONDS) * 1_000,
    secretId: `sec_${ids.letters(ID_LETTERS)}`,
  }
  if ((await keys.rotate(id, rotation)) !== 'full') return key
  const message =
    'Too many replaced secrets of this key still work: wait for the end of one, or end them with grace_seconds 0'
  throw reasonError('key_secrets_most', {}, { says: message })
}

/** Changes a key as the body says; false = it is so already, or there is none. `periods` = the current ones. */
export async function changedKey(
  keys: Pick<KeyStore, 'update'>,
  id: string,
  terms: KeyTerms,
  periods: PeriodStarts,
): Promise<boolean> {
  let patch: KeyPatch = {}
  await keys.update(
    id,
    (current) => {
      patch = keyPatchOf(terms, current)
      return patch
    },
    periods,
  )
  return !isEmpty(patch)
}

/** Makes a key, unless the account has `most`. */
export async function madeKey(keys: Pick<KeyStore, 'create'>, key: NewKey, most = KEYS_MAX): Promise<KeyRecord> {
  try {
    return await keys.create(key, most)
  } catch (thrown) {
    if (!(thrown instanceof TooManyKeysError)) throw thrown
    throw reasonError('keys_most', { most }, { says: `An account has at most ${most} keys: delete some first` })
  }
}

/** The limit that a body gives an account or a key whose limit was `limitBefore`; absent fields do not change. */
export function limitPatchOf(
  terms: Pick<KeyTerms, 'limit' | 'limit_reset'>,
  limitBefore: Micro | null,
): Pick<KeyPatch, 'limitMicro' | 'limitReset'> {
  const { limit_reset: limitReset } = terms
  const limitMicro = limitOf(terms)
  const limitAfter = limitMicro === undefined ? limitBefore : limitMicro
  if (limitAfter === null && typeof limitReset === 'string') throw fieldError('limit_reset', 'needs_limit')
  return {
    ...(limitMicro === undefined ? {} : { limitMicro }),
    ...(limitReset === undefined ? {} : { limitReset }),
    // Without a limit there is no period.
    ...(limitAfter === null ? { limitReset: null } : {}),
  }
}

/** The changes that a body makes to a key in its current state. */
export function keyPatchOf(terms: KeyTerms, current: Pick<KeyRecord, 'limitMicro' | 'limits'>): KeyPatch {
  const { name, disabled, allowed_models: allowedModels } = terms
  const expiresAtMs = expiryOf(terms)
  const limits = limitsOf(terms)
  // A body may give single limits; they are stored as one value.
  const after = limitsOrNull({ ...NO_LIMITS, ...current.limits, ...limits })
  const patch: KeyPatch = {
    ...(typeof name === 'string' ? { name } : {}),
    ...(disabled === undefined ? {} : { disabled }),
    ...limitPatchOf(terms, current.limitMicro),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    ...(allowedModels === undefined ? {} : { allowedModels }),
    ...(isDeepStrictEqual(after, current.limits) ? {} : { limits: after ?? NO_LIMITS }),
  }
  return differing(current, patch)
}

function limitOf({ limit }: Pick<KeyTerms, 'limit'>): Micro | null | undefined {
  return typeof limit === 'number' ? microOf(limit) : limit
}

function expiryOf({ expires_at: time }: KeyTerms): number | null | undefined {
  return typeof time === 'string' ? Date.parse(time) : time
}

interface MinuteTerms {
  readonly requests_per_minute?: number | null
  readonly tokens_per_minute?: number | null
}

/** The limits of a key in a body; absent = not given. */
interface LimitTerms extends MinuteTerms {
  readonly running_requests?: number | null
  readonly model_limits?: Readonly<Record<string, MinuteTerms>> | null
  readonly allowed_ips?: readonly string[] | null
}

/** The limits in a body; an empty list or map is null. */
function limitsOf(terms: LimitTerms): Partial<KeyLimits> {
  const { requests_per_minute: requests, tokens_per_minute: tokens, running_requests: running } = terms
  const { model_limits: models, allowed_ips: ips } = terms
  return {
    ...(requests === undefined ? {} : { requestsPerMinute: requests }),
    ...(tokens === undefined ? {} : { tokensPerMinute: tokens }),
    ...(running === undefined ? {} : { runningRequests: running }),
    ...(models === undefined ? {} : { modelLimits: modelLimitsOf(models) }),
    ...(ips === undefined ? {} : { allowedIps: ipsOf(ips) }),
  }
}

function modelLimitsOf(models: NonNullable<LimitTerms['model_limits']> | null): KeyLimits['modelLimits'] {
  const limited = Object.entries(models ?? {}).map(([model, own]) => {
    const { requests_per_minute: requestsPerMinute = null, tokens_per_minute: tokensPerMinute = null } = own
    return [model, { requestsPerMinute, tokensPerMinute }] as const
  })
  return limited.length === 0 ? null : Object.fromEntries(limited)
}

function ipsOf(ips: readonly string[] | null): KeyLimits['allowedIps'] {
  if (ips === null || ips.length === 0) return null
  const entries = ips.map((entry) => entry.trim())
  // A zone may be of any length and identifies no client.
  const wrong = entries.find((entry) => entry.includes('%') || !isIpRange(entry))
  if (wrong === undefined) return entries
  const given = wrong.slice(0, SHOWN_CHARS)
  throw fieldError('allowed_ips', 'ip_range', { given })
}

export function missingKey(): ApiError {
  return new ApiError('missing_api_key', "Missing Authorization header. Use 'Authorization: Bearer <API_KEY>'")
}

export function differentKeys(): ApiError {
  return new ApiError(
    'invalid_api_key',
    'The request names different API keys in Authorization, x-api-key and x-goog-api-key: send one of them',
  )
}

export function invalidKey(): ApiError {
  return new ApiError('invalid_api_key', 'Invalid API key')
}

export function wrongKind(manages: boolean): ApiError {
  return manages
    ? new ApiError('access_denied', 'This is a management key: it opens /v1/keys and GET /v1/key, and no model')
    : new ApiError('access_denied', 'This needs a management key, which the cabinet makes: an API key manages no keys')
}

export function unauthorized(): ApiError {
  return new ApiError(
    'unauthorized',
    "The admin API needs 'Authorization: Bearer <TOLLGATE_ADMIN_TOKEN>', a named admin token in force, or an administrator's console session",
  )
}

export function tooManyRequests(retryAfterSeconds: number): ApiError {
  return new ApiError('rate_limit_exceeded', `Too many requests. Retry after ${retryAfterSeconds} seconds`, {
    retryAfterSeconds,
  })
}

export function blockedError(retryAfterSeconds: number): ApiError {
  const message = `Too many unauthenticated requests from your IP address. Retry after ${retryAfterSeconds} seconds`
  return new ApiError('rate_limit_exceeded', message, { retryAfterSeconds, noRetry: true })
}
