import type { UsageReport, UsageSide } from '../../kinds/chat/answer.ts'
import { objectOf, type RawJson } from '../wire/raw-json.ts'
import { above0, TokenReader } from '../answers/token-reader.ts'

/**
 * A package's usage as disjoint meters; null = the provider sent none. The input's `total` includes tokens read from
 * and written to a cache, the output's `total` includes reasoning; a package that has only the parts leaves the total
 * out.
 */
export function sdkUsage(raw: unknown): UsageReport | null {
  const usage = objectOf(raw)
  const input = objectOf(usage?.['inputTokens'])
  const output = objectOf(usage?.['outputTokens'])
  if (!counts(input) && !counts(output)) return null
  const tokens = new TokenReader()
  const prompt = totalOf(tokens, 'input', input, ['noCache', 'cacheRead', 'cacheWrite'])
  const completion = totalOf(tokens, 'output', output, ['text', 'reasoning'])
  const cached = Math.min(prompt, tokens.part(input, 'cacheRead'))
  const written = Math.min(prompt - cached, tokens.part(input, 'cacheWrite'))
  const reasoning = Math.min(completion, tokens.part(output, 'reasoning'))
  return tokens.report({
    usage: {
      input: prompt - cached - written,
      output: completion - reasoning,
      ...above0({ cache_read: cached, cache_write: written, reasoning }),
    },
    inputTokens: prompt,
    outputTokens: completion,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: reasoning,
  })
}

function counts(object: RawJson | null): boolean {
  return Object.values(object ?? {}).some((value) => value !== undefined && value !== null)
}

function totalOf(tokens: TokenReader, side: UsageSide, object: RawJson | null, parts: readonly string[]): number {
  const isWhole = (object?.['total'] ?? null) !== null || parts.every((name) => (object?.[name] ?? null) === null)
  return isWhole
    ? tokens.count(side, object, 'total')
    : parts.reduce((total, name) => total + tokens.added(side, object, name), 0)
}
