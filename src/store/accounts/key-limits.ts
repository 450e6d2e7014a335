/** What one key may do in a minute; null = as much as its account. */
export interface MinuteLimits {
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
}

/** The limits that a key has beside its spending limit. They are stored with it as JSON. */
export interface KeyLimits extends MinuteLimits {
  /** Paid requests at once. */
  readonly runningRequests: number | null
  /** By the id of a model, or a pattern such as `openai/*`. */
  readonly modelLimits: Readonly<Record<string, MinuteLimits>> | null
  /** Addresses and CIDR ranges that the key works from; null = from everywhere. */
  readonly allowedIps: readonly string[] | null
}

export const NO_LIMITS: KeyLimits = Object.freeze({
  requestsPerMinute: null,
  tokensPerMinute: null,
  runningRequests: null,
  modelLimits: null,
  allowedIps: null,
})

/** null where nothing is limited, which is how most keys are stored. */
export function limitsOrNull(limits: KeyLimits): KeyLimits | null {
  return Object.values(limits).every((limit) => limit === null) ? null : limits
}

/** null where the relay has nothing to count: the addresses are judged before. */
export function countedLimits(limits: KeyLimits | null): KeyLimits | null {
  return limits === null || limitsOrNull({ ...limits, allowedIps: null }) === null ? null : limits
}

/**
 * The limits that each model of a key has for itself: those of its own id, else those of the longest pattern that fits.
 */
export function limitsOfModel({ modelLimits }: KeyLimits, model: string): MinuteLimits | null {
  if (modelLimits === null) return null
  if (Object.hasOwn(modelLimits, model)) return modelLimits[model] ?? null
  const [longest] = Object.keys(modelLimits)
    .filter((pattern) => pattern.includes('*') && fits(pattern, model))
    .toSorted((one, other) => other.length - one.length)
  return longest === undefined ? null : (modelLimits[longest] ?? null)
}

/** `*` stands for any text. Each part is looked for once, behind the one before: the work is linear. */
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
