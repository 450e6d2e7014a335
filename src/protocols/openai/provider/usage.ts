import type { UsageReport } from '../../../kinds/chat/answer.ts'
import { billed, type AttemptFailure } from '../../ports/attempt-failure.ts'
import { objectOf, type RawJson } from '../../wire/raw-json.ts'
import { errorIn } from '../../wire/error-body.ts'
import { eventFailure } from '../../wire/upstream-error.ts'
import { above0, TokenReader } from '../../answers/token-reader.ts'

/** The failure of a body or event with an `error`, and the usage that it reports. */
export function openaiErrorBody(body: RawJson): AttemptFailure {
  return billed(eventFailure(errorIn(body)), openaiUsage(body['usage']))
}

/** The counts. An object without any of them, such as `{}`, reports nothing, which is not a report of zero. */
const COUNTS = ['prompt_tokens', 'input_tokens', 'completion_tokens', 'output_tokens']

/** Where services report the searches that they bill: Anthropic's form, also at OpenRouter; xAI; Perplexity. */
const SEARCH_COUNTS: readonly (readonly [member: string, count: string])[] = [
  ['server_tool_use', 'web_search_requests'],
  ['server_side_tool_usage_details', 'web_search_calls'],
  ['', 'num_search_queries'],
  ['', 'num_sources_used'],
]

/**
 * An OpenAI-shaped usage object as disjoint meters; null = there is none. `prompt_tokens` includes cached and
 * cache-written tokens, `completion_tokens` includes reasoning, except at xAI, where only the total includes it.
 * `sellsSearch`: whether searches have a price; otherwise they are included in the answer.
 */
export function openaiUsage(raw: unknown, sellsSearch = false): UsageReport | null {
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
  const cachedDetails = objectOf(promptDetails?.['cached_tokens_details'])
  const audioCached = Math.min(cached, tokens.part(cachedDetails, 'audio_tokens'))
  const imagesCached = Math.min(cached - audioCached, tokens.part(cachedDetails, 'image_tokens'))
  const fresh = prompt - cached - written
  const audioIn = Math.min(fresh, Math.max(0, tokens.part(promptDetails, 'audio_tokens') - audioCached))
  const imagesIn = Math.min(fresh - audioIn, Math.max(0, tokens.part(promptDetails, 'image_tokens') - imagesCached))
  const reasoning = tokens.part(outputDetails, 'reasoning_tokens') || tokens.part(usage, 'reasoning_tokens')
  const audioOut = tokens.part(outputDetails, 'audio_tokens')
  const outside = reasoning > 0 && total === prompt + completion + reasoning
  const told = (counted: number | null, [member, count]: (typeof SEARCH_COUNTS)[number]): number | null =>
    counted ?? tokens.maybe(member === '' ? usage : objectOf(usage[member]), count)
  const searches = sellsSearch ? SEARCH_COUNTS.reduce(told, null) : null
  const output = outside ? completion + reasoning : completion
  const reasoningPart = Math.min(output, reasoning)
  const audioPart = Math.min(output - reasoningPart, audioOut)
  const imagesOut = Math.min(output - reasoningPart - audioPart, tokens.part(outputDetails, 'image_tokens'))
  return tokens.report({
    usage: {
      input: fresh - audioIn - imagesIn,
      output: output - reasoningPart - audioPart - imagesOut,
      ...above0({
        cache_read: cached - audioCached - imagesCached,
        audio_cache_read: audioCached,
        image_cache_read: imagesCached,
        cache_write: written,
        audio_input: audioIn,
        image_tokens: imagesIn,
        reasoning: reasoningPart,
        audio_output: audioPart,
        image_output_tokens: imagesOut,
      }),
      ...(searches === null ? {} : { search: searches }),
    },
    inputTokens: prompt,
    outputTokens: output,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: reasoningPart,
  })
}
