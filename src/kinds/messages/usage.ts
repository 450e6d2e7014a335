import { rubles } from '../../base/money.ts'
import type { ChargedUsage } from '../answer/writer.ts'

/** `usage` of a message: `input_tokens` excludes tokens read from or written to a cache, as the meters do. */
export function messageUsage({ report, chargedMicro }: ChargedUsage): Record<string, unknown> {
  const { usage, inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = report
  return {
    input_tokens: inputTokens - cachedTokens - cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: cacheWriteTokens - (usage.cache_write_1h ?? 0),
      ephemeral_1h_input_tokens: usage.cache_write_1h ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    ...(usage.search === undefined ? {} : { server_tool_use: { web_search_requests: usage.search } }),
    cost: rubles(chargedMicro),
    currency: 'RUB',
  }
}
