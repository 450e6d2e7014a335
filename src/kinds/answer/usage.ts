import type { UsageReport } from '../chat/answer.ts'
import type { Meter } from '../../tables/meter-table.ts'

/**
 * The usage of several calls together. If one of them did not count a side, the total is at least the operation's own
 * count.
 */
export function sumUsage(reports: readonly UsageReport[]): UsageReport {
  const usage: Partial<Record<Meter, number>> = {}
  for (const report of reports) {
    for (const [name, units] of Object.entries(report.usage)) {
      // Object.entries widens the keys of a Usage, which are meters, to string.
      const meter = name as Meter
      usage[meter] = (usage[meter] ?? 0) + units
    }
  }
  const total = (
    field: 'inputTokens' | 'outputTokens' | 'cachedTokens' | 'cacheWriteTokens' | 'reasoningTokens',
  ): number => reports.reduce((sum, report) => sum + report[field], 0)
  const missing = [...new Set(reports.flatMap((report) => report.missing ?? []))]
  return {
    usage,
    inputTokens: total('inputTokens'),
    outputTokens: total('outputTokens'),
    cachedTokens: total('cachedTokens'),
    cacheWriteTokens: total('cacheWriteTokens'),
    reasoningTokens: total('reasoningTokens'),
    implausible: reports.some(({ implausible }) => implausible),
    ...(missing.length === 0 ? {} : { missing }),
  }
}

/**
 * Usage of a call that only reads: tokens, and search units for models sold by them; null = unknown, which is not the
 * same as none.
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
