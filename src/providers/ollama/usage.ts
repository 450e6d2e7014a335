import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { RawJson } from '../wire/raw-json.ts'
import { TokenReader } from '../answers/token-reader.ts'

/**
 * The counts in an answer's last line as disjoint meters; null when it has none. Ollama leaves out counts of zero: a
 * prompt without a count was wholly cached. An answer with content never has an output of zero: without a count we
 * count it. Thinking is part of the output and has no separate count.
 */
export function ollamaUsage(line: RawJson, hasSaid: boolean): UsageReport | null {
  if ((line['prompt_eval_count'] ?? null) === null && (line['eval_count'] ?? null) === null) return null
  const tokens = new TokenReader()
  const input = tokens.added('input', line, 'prompt_eval_count')
  const output = hasSaid ? tokens.count('output', line, 'eval_count') : tokens.added('output', line, 'eval_count')
  return tokens.report({
    usage: { input, output },
    inputTokens: input,
    outputTokens: output,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  })
}
