import type { UsageReport } from '../../kinds/chat/answer.ts'
import { objectOf, type RawJson } from '../../protocols/wire/raw-json.ts'
import { TokenReader } from '../../protocols/answers/token-reader.ts'

/**
 * The `usage` of an answer, or the `meta` of an older one, as disjoint meters; null when it counts nothing. `tokens`
 * counts everything that the model read and wrote, cached and thinking tokens included. `billed_units`, the smaller
 * numbers on the operator's bill, are used only where `tokens` is missing.
 */
export function cohereUsage(raw: unknown): UsageReport | null {
  const usage = objectOf(raw)
  const counts =
    [objectOf(usage?.['tokens']), objectOf(usage?.['billed_units'])].find(
      (candidate) => candidate !== null && isCounted(candidate),
    ) ?? null
  if (counts === null) return null
  const tokens = new TokenReader()
  const prompt = tokens.count('input', counts, 'input_tokens')
  const output = tokens.count('output', counts, 'output_tokens')
  const cached = Math.min(prompt, tokens.part(usage, 'cached_tokens'))
  return tokens.report({
    usage: { input: prompt - cached, output, ...(cached > 0 ? { cache_read: cached } : {}) },
    inputTokens: prompt,
    outputTokens: output,
    cachedTokens: cached,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  })
}

function isCounted(counts: RawJson): boolean {
  return ['input_tokens', 'output_tokens'].some((name) => (counts[name] ?? null) !== null)
}
