import type { IdSource } from '../base/ids.ts'
import { microOf, type Micro } from '../base/money.ts'
import type { ApiError } from '../base/errors.ts'
import { fieldError, reasonError } from '../base/refusals.ts'
import type { KeyPatch, KeyRecord, KeyRotation, NewKey } from '../store/accounts/key-store.ts'
import { limitsOrNull, NO_LIMITS, type KeyLimits } from '../store/accounts/key-limits.ts'
import { isIpRange } from '../http/ip-list.ts'
import { digestOf, generateKey, labelOf } from './api-key.ts'

const SHOWN_CHARS = 80

const ID_LETTERS = 16
/** How long a replaced secret works where the body does not say. */
const GRACE_SECONDS = 86_400
/** Nobody needs more, except by mistake. */
const KEYS_MAX = 500

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

/** The new key by a body, and its text, which is shown once. */
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
  if (record.limitReset !== null && record.limitMicro === null) throw needsLimit()
  return { key, record }
}

/** The new secret of a key by a body, and its text, which is shown once. */
export function newSecret(
  { grace_seconds: graceSeconds }: { readonly grace_seconds?: number | null },
  ids: IdSource,
  nowMs: number,
): { readonly key: string; readonly rotation: KeyRotation } {
  const key = generateKey(ids)
  return {
    key,
    rotation: {
      digest: digestOf(key),
      label: labelOf(key),
      atMs: nowMs,
      graceUntilMs: nowMs + (graceSeconds ?? GRACE_SECONDS) * 1_000,
      secretId: `sec_${ids.letters(ID_LETTERS)}`,
    },
  }
}

/** The refusal for a key too many of whose replaced secrets still work. */
export function tooManySecrets(): ApiError {
  const message =
    'Too many replaced secrets of this key still work: wait for the end of one, or end them with grace_seconds 0'
  return reasonError('conflict', 'key_secrets_most', {}, message)
}

/** The refusal for an account that has reached the limit on its own keys, or null. */
export function tooManyKeys(count: number): ApiError | null {
  if (count < KEYS_MAX) return null
  const message = `An account has at most ${KEYS_MAX} keys: delete some first`
  return reasonError('conflict', 'keys_most', { most: KEYS_MAX }, message)
}

/** The limit of an account or a key in a body, which had one of `limitBefore`; what is absent does not change. */
export function limitPatchOf(
  terms: Pick<KeyTerms, 'limit' | 'limit_reset'>,
  limitBefore: Micro | null,
): Pick<KeyPatch, 'limitMicro' | 'limitReset'> {
  const { limit_reset: limitReset } = terms
  const limitMicro = limitOf(terms)
  const limitAfter = limitMicro === undefined ? limitBefore : limitMicro
  if (limitAfter === null && typeof limitReset === 'string') throw needsLimit()
  return {
    ...(limitMicro === undefined ? {} : { limitMicro }),
    ...(limitReset === undefined ? {} : { limitReset }),
    // Without a limit there is no period.
    ...(limitAfter === null ? { limitReset: null } : {}),
  }
}

/** The changes that a body makes to a key with this limit. */
export function keyPatchOf(terms: KeyTerms, limitBefore: Micro | null): KeyPatch {
  const { name, disabled, allowed_models: allowedModels } = terms
  const expiresAtMs = expiryOf(terms)
  const limits = limitsOf(terms)
  return {
    ...(typeof name === 'string' ? { name } : {}),
    ...(disabled === undefined ? {} : { disabled }),
    ...limitPatchOf(terms, limitBefore),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    ...(allowedModels === undefined ? {} : { allowedModels }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  }
}

function limitOf({ limit }: Pick<KeyTerms, 'limit'>): Micro | null | undefined {
  return typeof limit === 'number' ? microOf(limit) : limit
}

function expiryOf({ expires_at: time }: KeyTerms): number | null | undefined {
  return typeof time === 'string' ? Date.parse(time) : time
}

function needsLimit(): Error {
  return fieldError('limit_reset', 'needs_limit', {}, 'needs a limit')
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
  // A zone may be of any length and says nothing about a client.
  const wrong = entries.find((entry) => entry.includes('%') || !isIpRange(entry))
  if (wrong === undefined) return entries
  const given = wrong.slice(0, SHOWN_CHARS)
  throw fieldError(
    'allowed_ips',
    'ip_range',
    { given },
    `must hold IP addresses or CIDR ranges such as 203.0.113.7 or 2001:db8::/32, got '${given}'`,
  )
}
