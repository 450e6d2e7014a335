import type { UsageReport } from '../../../kinds/chat/answer.ts'
import { listOf, objectOf, type RawJson } from '../../wire/raw-json.ts'
import { above0, TokenReader } from '../../answers/token-reader.ts'
import { billed, type AttemptFailure } from '../../ports/attempt-failure.ts'
import { eventFailure } from '../../wire/upstream-error.ts'

/**
 * The counts. An object without any of them, such as a stream's `{"trafficType": …}`, reports nothing, which is not a
 * report of zero.
 */
const COUNTS = ['promptTokenCount', 'toolUsePromptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount']

/**
 * `usageMetadata` as disjoint meters; null = it has no counts. `promptTokenCount` includes cached tokens but not the
 * tokens of the provider's own tools; `candidatesTokenCount` excludes thoughts. `searches`: null = unknown.
 */
export function geminiUsage(raw: unknown, searches: number | null = null): UsageReport | null {
  const usage = objectOf(raw)
  if (usage === null || COUNTS.every((name) => (usage[name] ?? null) === null)) return null
  const tokens = new TokenReader()
  const prompt =
    tokens.count('input', usage, 'promptTokenCount') + tokens.added('input', usage, 'toolUsePromptTokenCount')
  const reasoning = tokens.added('output', usage, 'thoughtsTokenCount')
  // The wire leaves out counts of zero, such as the text of an answer that is only thoughts.
  const said =
    reasoning > 0
      ? tokens.added('output', usage, 'candidatesTokenCount')
      : tokens.count('output', usage, 'candidatesTokenCount')
  const cached = Math.min(prompt, tokens.part(usage, 'cachedContentTokenCount'))
  const of = (modality: string, ...names: readonly string[]): number =>
    names.reduce((sum, name) => sum + tokensOf(modality, usage[name], tokens), 0)
  const audioCached = Math.min(cached, of('AUDIO', 'cacheTokensDetails'))
  const imagesCached = Math.min(cached - audioCached, of('IMAGE', 'cacheTokensDetails'))
  const fresh = prompt - cached
  const read = ['promptTokensDetails', 'toolUsePromptTokensDetails']
  const audioIn = Math.min(fresh, Math.max(0, of('AUDIO', ...read) - audioCached))
  const imagesIn = Math.min(fresh - audioIn, Math.max(0, of('IMAGE', ...read) - imagesCached))
  const audioOut = Math.min(said, of('AUDIO', 'candidatesTokensDetails'))
  const imagesOut = Math.min(said - audioOut, of('IMAGE', 'candidatesTokensDetails'))
  return tokens.report({
    usage: {
      input: fresh - audioIn - imagesIn,
      output: said - audioOut - imagesOut,
      ...above0({
        cache_read: cached - audioCached - imagesCached,
        audio_cache_read: audioCached,
        image_cache_read: imagesCached,
        audio_input: audioIn,
        image_tokens: imagesIn,
        reasoning,
        audio_output: audioOut,
        image_output_tokens: imagesOut,
      }),
      ...(searches === null ? {} : { search: searches }),
    },
    inputTokens: prompt,
    outputTokens: said + reasoning,
    cachedTokens: cached,
    cacheWriteTokens: 0,
    reasoningTokens: reasoning,
  })
}

/** Sums the tokens of a modality in a list of `{modality, tokenCount}`, which may name it more than once. */
function tokensOf(modality: string, details: unknown, tokens: TokenReader): number {
  return listOf(details)
    .map(objectOf)
    .filter((detail): detail is RawJson => detail?.['modality'] === modality)
    .reduce((sum, detail) => sum + tokens.part(detail, 'tokenCount'), 0)
}

/**
 * An error inside a 200, as the body or as an event of a stream: `{error: {code, message, status, details}}`, or a list
 * with one of them.
 */
export function geminiErrorEvent(body: unknown): AttemptFailure {
  return billed(eventFailure(body), geminiUsage(objectOf(body)?.['usageMetadata']))
}

/** Whether the body is an error, whatever its status. */
export function isErrorBody(body: unknown): boolean {
  return (objectOf(Array.isArray(body) ? body[0] : body)?.['error'] ?? null) !== null
}
