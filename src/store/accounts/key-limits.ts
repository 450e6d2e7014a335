import { ownValue } from '../../base/own-value.ts'

/** Limits of one key in a minute; null = only the account's limit applies. */
export interface MinuteLimits {
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
}

/** The limits of a key besides its spending limit, stored with it as JSON. */
export interface KeyLimits extends MinuteLimits {
  /** The most paid requests that run at once. */
  readonly runningRequests: number | null
  /** Limits by the id of a model, or by a pattern such as `openai/*`. */
  readonly modelLimits: Readonly<Record<string, MinuteLimits>> | null
  /** Addresses and CIDR ranges from which the key works; null = from everywhere. */
  readonly allowedIps: readonly string[] | null
}

export const NO_LIMITS: KeyLimits = Object.freeze({
  requestsPerMinute: null,
  tokensPerMinute: null,
  runningRequests: null,
  modelLimits: null,
  allowedIps: null,
})

/** The limits as they are stored; null = nothing is limited, as for most keys. */
export function limitsOrNull(limits: KeyLimits): KeyLimits | null {
  return Object.values(limits).every((limit) => limit === null) ? null : limits
}

/** The limits that the relay counts; null = there are none. Addresses are checked earlier. */
export function countedLimits(limits: KeyLimits | null): KeyLimits | null {
  return limits === null || limitsOrNull({ ...limits, allowedIps: null }) === null ? null : limits
}

/** The limits of one model for a key: those of its own id, else those of the longest matching pattern. */
export function limitsOfModel({ modelLimits }: KeyLimits, model: string): MinuteLimits | null {
  if (modelLimits === null) return null
  const own = ownValue(modelLimits, model)
  if (own !== undefined) return own
  const [longest] = Object.keys(modelLimits)
    .filter((pattern) => pattern.includes('*') && fits(pattern, model))
    .toSorted((one, other) => other.length - one.length)
  return longest === undefined ? null : (ownValue(modelLimits, longest) ?? null)
}

/**
 * Whether a model matches a pattern, in which `*` matches any text. Each part is searched for once, after the part
 * before, so the work is linear.
 */
function fits(pattern: string, model: string): boolean {
  const parts = pattern.split('*')
  const [first = '', ...rest] = parts
  const last = rest.pop() ?? ''
  if (!model.startsWith(first) || model.length < first.length + last.length || !model.endsWith(last)) return false
  let place = first.length
  for (const part of rest) {
    const found = model.indexOf(part, place)
    if (found === -1) return false
    place = found + part.length
  }
  return place <= model.length - last.length
}
