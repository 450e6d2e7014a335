import { isIpRange } from '../http/ip-list.ts'
import { fieldError } from '../refusals.ts'
import type { KeyLimits } from '../store/accounts/key-limits.ts'

const SHOWN_CHARS = 80

interface MinuteTerms {
  readonly requests_per_minute?: number | null
  readonly tokens_per_minute?: number | null
}

/** The limits of a key in a body; absent = not given. */
export interface LimitTerms extends MinuteTerms {
  readonly running_requests?: number | null
  readonly model_limits?: Readonly<Record<string, MinuteTerms>> | null
  readonly allowed_ips?: readonly string[] | null
}

/** The limits in a body; an empty list or map is null. */
export function limitsOf(terms: LimitTerms): Partial<KeyLimits> {
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
