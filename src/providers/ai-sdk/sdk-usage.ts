import type { UsageReport } from '../../kinds/chat-answer.ts'
import { objectOf, type RawJson } from '../raw-json.ts'
import { TokenReader } from '../token-reader.ts'

/**
 * A package's usage as disjoint meters; null when the provider sent none. `total` of the input holds what was read from and
 * written to a cache, `total` of the output holds reasoning; a package that gives parts alone gives them without a total.
 */
export function sdkUsage(raw: unknown): UsageReport | null {
  const usage = objectOf(raw)
  const input = objectOf(usage?.['inputTokens'])
  const output = objectOf(usage?.['outputTokens'])
  if (!counts(input) && !counts(output)) return null
  const tokens = new TokenReader()
  const prompt = totalOf(tokens, input, ['noCache', 'cacheRead', 'cacheWrite'])
  const completion = totalOf(tokens, output, ['text', 'reasoning'])
  const cached = Math.min(prompt, tokens.read(input, 'cacheRead'))
  const written = Math.min(prompt - cached, tokens.read(input, 'cacheWrite'))
  const reasoning = Math.min(completion, tokens.read(output, 'reasoning'))
  return {
    usage: {
      input: prompt - cached - written,
      output: completion - reasoning,
      ...(cached > 0 ? { cache_read: cached } : {}),
      ...(written > 0 ? { cache_write: written } : {}),
      ...(reasoning > 0 ? { reasoning } : {}),
    },
    inputTokens: prompt,
    outputTokens: completion,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: reasoning,
    implausible: tokens.implausible,
  }
}

function counts(object: RawJson | null): boolean {
  return Object.values(object ?? {}).some((value) => value !== undefined && value !== null)
}

function totalOf(tokens: TokenReader, object: RawJson | null, parts: readonly string[]): number {
  if ((object?.['total'] ?? null) !== null) return tokens.read(object, 'total')
  const sum = parts.reduce((total, name) => total + tokens.read(object, name), 0)
  if (!Number.isSafeInteger(sum)) tokens.implausible = true
  return Number.isSafeInteger(sum) ? sum : 0
}
