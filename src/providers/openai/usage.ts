import type { UsageReport } from '../../kinds/chat/answer.ts'
import { objectOf } from '../../protocols/wire/raw-json.ts'
import { TokenReader } from '../../protocols/answers/token-reader.ts'

/** An object without any of them, such as `{}`, reports nothing, which is not a report of zero. */
const COUNTS = ['prompt_tokens', 'input_tokens', 'completion_tokens', 'output_tokens']

/**
 * An OpenAI-shaped usage object as disjoint meters; null when there is none. `prompt_tokens` includes cached and
 * cache-written tokens, `completion_tokens` includes reasoning, except at xAI, whose reasoning is only in the total.
 */
export function openaiUsage(raw: unknown): UsageReport | null {
  const usage = objectOf(raw)
  if (usage === null || COUNTS.every((name) => (usage[name] ?? null) === null)) return null
  const tokens = new TokenReader()
  const promptDetails = objectOf(usage['prompt_tokens_details']) ?? objectOf(usage['input_tokens_details'])
  const outputDetails = objectOf(usage['completion_tokens_details']) ?? objectOf(usage['output_tokens_details'])
  const prompt = tokens.count('input', usage, 'prompt_tokens', 'input_tokens')
  const completion = tokens.count('output', usage, 'completion_tokens', 'output_tokens')
  const total = tokens.part(usage, 'total_tokens')
  const cached = Math.min(
    prompt,
    tokens.part(promptDetails, 'cached_tokens') || tokens.part(usage, 'prompt_cache_hit_tokens', 'cached_tokens'),
  )
  const written = Math.min(
    prompt - cached,
    tokens.part(promptDetails, 'cache_write_tokens', 'cache_creation_tokens') ||
      tokens.part(usage, 'cache_creation_input_tokens'),
  )
  const audioIn = Math.min(prompt - cached - written, tokens.part(promptDetails, 'audio_tokens'))
  const reasoning = tokens.part(outputDetails, 'reasoning_tokens') || tokens.part(usage, 'reasoning_tokens')
  const audioOut = tokens.part(outputDetails, 'audio_tokens')
  const outside = reasoning > 0 && total === prompt + completion + reasoning
  const output = outside ? completion + reasoning : completion
  const reasoningPart = Math.min(output, reasoning)
  const audioPart = Math.min(output - reasoningPart, audioOut)
  return tokens.report({
    usage: {
      input: prompt - cached - written - audioIn,
      output: output - reasoningPart - audioPart,
      ...(cached > 0 ? { cache_read: cached } : {}),
      ...(written > 0 ? { cache_write: written } : {}),
      ...(audioIn > 0 ? { audio_input: audioIn } : {}),
      ...(reasoningPart > 0 ? { reasoning: reasoningPart } : {}),
      ...(audioPart > 0 ? { audio_output: audioPart } : {}),
    },
    inputTokens: prompt,
    outputTokens: output,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: reasoningPart,
  })
}
