import { rubles } from '../../../base/money.ts'
import { toldTier } from '../../../tables/service-tier-table.ts'
import type { ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { MessagesRequest } from './request.ts'

/** `usage` of a message: `input_tokens` excludes tokens read from or written to a cache, as the meters do. */
export function messageUsage(
  { report, chargedMicro }: ChargedUsage,
  serviceTier: string | null = null,
): Record<string, unknown> {
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
    ...(serviceTier === null ? {} : { service_tier: toldTier('messages', serviceTier) }),
    cost: rubles(chargedMicro),
    currency: 'RUB',
  }
}

/** Facts collected while a body is read. */
export interface ReadingNotes {
  readonly untranslated: Set<string>
  readonly withheld: Set<string>
  /** Bytes of inline pictures and documents, which are not text. */
  mediaBytes: number
  /** Tokens of instructions that a provider adds for its own tools. */
  toolTokens: number
  nativeOnly: MessagesRequest['nativeOnly']
  /** Where a file is first not what its block says; null = nowhere. */
  mistyped: string | null
  /** Blocks that are only copied hold files. */
  copiesFiles: boolean
}

export function newNotes(): ReadingNotes {
  return {
    untranslated: new Set(),
    withheld: new Set(),
    mediaBytes: 0,
    toolTokens: 0,
    nativeOnly: null,
    mistyped: null,
    copiesFiles: false,
  }
}
