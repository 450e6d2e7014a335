import type { UsageReport } from '../../kinds/chat/answer.ts'
import { listOf, objectOf } from '../wire/raw-json.ts'
import { TokenReader } from '../answers/token-reader.ts'

/**
 * A usage object as disjoint meters; null when it counts nothing. `inputTokens` excludes tokens read from or written to
 * a cache.
 */
export function bedrockUsage(raw: unknown): UsageReport | null {
  const usage = objectOf(raw)
  if (usage === null || ((usage['inputTokens'] ?? null) === null && (usage['outputTokens'] ?? null) === null))
    return null
  const tokens = new TokenReader()
  const input = tokens.count('input', usage, 'inputTokens')
  const output = tokens.count('output', usage, 'outputTokens')
  const cached = tokens.added('input', usage, 'cacheReadInputTokens', 'cacheReadInputTokenCount')
  const written = tokens.added('input', usage, 'cacheWriteInputTokens', 'cacheWriteInputTokenCount')
  const hour = listOf(usage['cacheDetails'])
    .map(objectOf)
    .filter((detail) => detail?.['ttl'] === '1h')
    .reduce((total, detail) => total + tokens.part(detail, 'inputTokens'), 0)
  const writtenHour = Math.min(written, hour)
  return tokens.report({
    usage: {
      input,
      output,
      ...(cached > 0 ? { cache_read: cached } : {}),
      ...(written > writtenHour ? { cache_write: written - writtenHour } : {}),
      ...(writtenHour > 0 ? { cache_write_1h: writtenHour } : {}),
    },
    inputTokens: input + cached + written,
    outputTokens: output,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: 0,
  })
}
