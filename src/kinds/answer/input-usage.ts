import type { UsageReport } from '../chat/answer.ts'

/**
 * Usage of a call that only reads: tokens, and search units for models sold by them; null = unknown, which differs from
 * none.
 */
export function inputUsage({
  tokens,
  searches = null,
  implausible = false,
}: {
  readonly tokens: number | null
  readonly searches?: number | null
  readonly implausible?: boolean
}): UsageReport {
  return {
    usage: { ...(tokens === null ? {} : { input: tokens }), ...(searches === null ? {} : { search: searches }) },
    inputTokens: tokens ?? 0,
    outputTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    implausible,
    ...(tokens === null ? { missing: ['input'] } : {}),
  }
}
