import type { UsageReport } from '../../kinds/chat/answer.ts'
import { objectOf, type RawJson } from '../wire/raw-json.ts'
import { TokenReader } from '../answers/token-reader.ts'

const FIELDS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation',
  'output_tokens_details',
  'server_tool_use',
]

/**
 * Fields of a later usage object replace those of an earlier one: a stream reports its input first and its output last.
 */
export function mergedUsage(before: RawJson | null, raw: unknown): RawJson | null {
  const later = objectOf(raw)
  if (later === null) return before
  const merged: Record<string, unknown> = {}
  for (const name of FIELDS) merged[name] = later[name] ?? before?.[name] ?? null
  return merged
}

/**
 * A usage object as disjoint meters; null when it counts nothing. `input_tokens` excludes tokens read from or written
 * to a cache.
 */
export function anthropicUsage(usage: RawJson | null): UsageReport | null {
  if (usage === null || ((usage['input_tokens'] ?? null) === null && (usage['output_tokens'] ?? null) === null))
    return null
  const tokens = new TokenReader()
  const input = tokens.count('input', usage, 'input_tokens')
  const cached = tokens.added('input', usage, 'cache_read_input_tokens')
  const creation = objectOf(usage['cache_creation'])
  const fiveMinutes = tokens.added('input', creation, 'ephemeral_5m_input_tokens')
  const hour = tokens.added('input', creation, 'ephemeral_1h_input_tokens')
  const written =
    (usage['cache_creation_input_tokens'] ?? null) === null
      ? fiveMinutes + hour
      : tokens.added('input', usage, 'cache_creation_input_tokens')
  const writtenHour = Math.min(written, hour)
  const output = tokens.count('output', usage, 'output_tokens')
  const reasoning = Math.min(output, tokens.part(objectOf(usage['output_tokens_details']), 'thinking_tokens'))
  const searches = tokens.part(objectOf(usage['server_tool_use']), 'web_search_requests')
  return tokens.report({
    usage: {
      input,
      output: output - reasoning,
      ...(cached > 0 ? { cache_read: cached } : {}),
      ...(written > writtenHour ? { cache_write: written - writtenHour } : {}),
      ...(writtenHour > 0 ? { cache_write_1h: writtenHour } : {}),
      ...(reasoning > 0 ? { reasoning } : {}),
      ...(searches > 0 ? { search: searches } : {}),
    },
    inputTokens: input + cached + written,
    outputTokens: output,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: reasoning,
  })
}
