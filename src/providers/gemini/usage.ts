import type { UsageReport } from '../../kinds/chat/answer.ts'
import { listOf, objectOf, type RawJson } from '../wire/raw-json.ts'
import { TokenReader } from '../answers/token-reader.ts'

/**
 * An object without any of them, such as a stream's `{"trafficType": …}`, reports nothing: that is not the same as
 * reporting zero.
 */
const COUNTS = ['promptTokenCount', 'toolUsePromptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount']

/**
 * `usageMetadata` as disjoint meters; null when it counts nothing. `promptTokenCount` holds cached tokens but not what
 * the provider's own tools added, `candidatesTokenCount` excludes thoughts. Image tokens stay among the others: no
 * meter counts them. `searches`: null = says nothing of searches.
 */
export function geminiUsage(raw: unknown, searches: number | null = null): UsageReport | null {
  const usage = objectOf(raw)
  if (usage === null || COUNTS.every((name) => (usage[name] ?? null) === null)) return null
  const tokens = new TokenReader()
  const prompt =
    tokens.count('input', usage, 'promptTokenCount') + tokens.added('input', usage, 'toolUsePromptTokenCount')
  const reasoning = tokens.added('output', usage, 'thoughtsTokenCount')
  // Counts of zero are left out, as of an answer that is all thought.
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

/** A list of `{modality, tokenCount}`; a modality may come more than once. */
function audioTokens(details: unknown, tokens: TokenReader): number {
  return listOf(details)
    .map(objectOf)
    .filter((detail): detail is RawJson => detail?.['modality'] === 'AUDIO')
    .reduce((sum, detail) => sum + tokens.part(detail, 'tokenCount'), 0)
}
