import type { UsageReport } from '../../../kinds/chat/answer.ts'
import { listOf, objectOf, type RawJson } from '../../wire/raw-json.ts'
import { TokenReader } from '../../answers/token-reader.ts'

/**
 * An object without any of them, such as a stream's `{"trafficType": …}`, reports nothing, which is not a report of
 * zero.
 */
const COUNTS = ['promptTokenCount', 'toolUsePromptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount']

/**
 * `usageMetadata` as disjoint meters; null when it counts nothing. `promptTokenCount` includes cached tokens but not
 * the tokens of the provider's own tools; `candidatesTokenCount` excludes thoughts. Image tokens stay among the others,
 * since no meter counts them. `searches`: null = unknown.
 */
export function geminiUsage(raw: unknown, searches: number | null = null): UsageReport | null {
  const usage = objectOf(raw)
  if (usage === null || COUNTS.every((name) => (usage[name] ?? null) === null)) return null
  const tokens = new TokenReader()
  const prompt =
    tokens.count('input', usage, 'promptTokenCount') + tokens.added('input', usage, 'toolUsePromptTokenCount')
  const reasoning = tokens.added('output', usage, 'thoughtsTokenCount')
  // The wire leaves out counts of zero, such as the text of an answer that is all thought.
  const said =
    reasoning > 0
      ? tokens.added('output', usage, 'candidatesTokenCount')
      : tokens.count('output', usage, 'candidatesTokenCount')
  const cached = Math.min(prompt, tokens.part(usage, 'cachedContentTokenCount'))
  const heard =
    audioTokens(usage['promptTokensDetails'], tokens) + audioTokens(usage['toolUsePromptTokensDetails'], tokens)
  const audioIn = Math.min(prompt - cached, Math.max(0, heard - audioTokens(usage['cacheTokensDetails'], tokens)))
  const audioOut = Math.min(said, audioTokens(usage['candidatesTokensDetails'], tokens))
  return tokens.report({
    usage: {
      input: prompt - cached - audioIn,
      output: said - audioOut,
      ...(cached > 0 ? { cache_read: cached } : {}),
      ...(audioIn > 0 ? { audio_input: audioIn } : {}),
      ...(reasoning > 0 ? { reasoning } : {}),
      ...(audioOut > 0 ? { audio_output: audioOut } : {}),
      ...(searches === null ? {} : { search: searches }),
    },
    inputTokens: prompt,
    outputTokens: said + reasoning,
    cachedTokens: cached,
    cacheWriteTokens: 0,
    reasoningTokens: reasoning,
  })
}

/** Sums a list of `{modality, tokenCount}`, in which a modality may come more than once. */
function audioTokens(details: unknown, tokens: TokenReader): number {
  return listOf(details)
    .map(objectOf)
    .filter((detail): detail is RawJson => detail?.['modality'] === 'AUDIO')
    .reduce((sum, detail) => sum + tokens.part(detail, 'tokenCount'), 0)
}
