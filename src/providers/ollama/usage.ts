import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { RawJson } from '../wire/raw-json.ts'
import { TokenReader } from '../answers/token-reader.ts'

/**
 * The counts of an answer's last line as disjoint meters; null when it has none. Ollama leaves out counts that are
 * zero: a prompt without one was wholly in the cache, so that nothing of it was evaluated. An answer that says
 * something has no count of zero: without one it is counted by us. Thinking counts as output and has no count of its
 * own.
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
