import { createRequire } from 'node:module'
import type { GptEncoding } from 'gpt-tokenizer/GptEncoding'
import type { ChatRequest } from '../kinds/chat-request.ts'
import { textsOf } from '../kinds/chat-texts.ts'
import { mediaTokens } from './media-tokens.ts'

const require = createRequire(import.meta.url)

/** Every BPE package is quadratic on one long word: 100 kB of `a` blocks the loop for 8 s whole and for 7 ms in slices. */
const SLICE_CHARS = 1_024
/** Above this only every k-th slice is counted: 1 MiB takes 70 ms, and no body may stall the loop for 100 ms (reliability.md R11). */
const EXACT_CHARS_MAX = 512 * SLICE_CHARS
const MESSAGE_TOKENS = 4
const MESSAGE_TOKENS_MAX = 8
const REPLY_TOKENS = 3
const TOOL_TOKENS = 8
const TOOL_TOKENS_MAX = 16
const TOOLS_TOKENS = 16
/** Providers put up to about 600 tokens of instructions before the tools. */
const TOOLS_TOKENS_MAX = 640

const ENCODINGS = ['o200k_base', 'cl100k_base'] as const
type Encoding = (typeof ENCODINGS)[number]

/** Counts tokens with the model's own encoding where it is known, else with `o200k_base`. */
export interface TokenCounter {
  countText(text: string, tokenizer: string | null): number
  /** Tokens of the whole input: texts, roles, tools, schema, media by rule of thumb. */
  countChat(request: ChatRequest, tokenizer: string | null): number
  /** Loads the default encoding: 0.3 s and 75 MB, which else the first request near a limit would wait for. */
  warm(): void
}

/** A counter that loads each encoding when first needed and keeps it. */
export function createTokenCounter(): TokenCounter {
  const loaded = new Map<Encoding, GptEncoding['countTokens']>()
  const counterOf = (tokenizer: string | null): ((slice: string) => number) => {
    const encoding = encodingOf(tokenizer) ?? 'o200k_base'
    const countTokens = loaded.get(encoding) ?? load(encoding)
    loaded.set(encoding, countTokens)
    // Text such as `<|endoftext|>` is counted as the text it is, where the package would throw.
    return (slice) => countTokens(slice, { disallowedSpecial: new Set() })
  }
  const countText = (text: string, tokenizer: string | null): number => countTexts([text], counterOf(tokenizer))
  return {
    countText,
    countChat: (request, tokenizer) => countChat(request, counterOf(tokenizer)),
    warm: () => void countText('warm', null),
  }
}

/** Synchronous, because the plan is: a request near a limit cannot be priced before the encoding is there. */
function load(encoding: Encoding): GptEncoding['countTokens'] {
  // The package exports one such object per encoding under this name; `require` itself is untyped.
  const loaded = require(`gpt-tokenizer/encoding/${encoding}`) as Pick<GptEncoding, 'countTokens'>
  return loaded.countTokens
}

function encodingOf(tokenizer: string | null): Encoding | null {
  return ENCODINGS.find((encoding) => encoding === tokenizer) ?? null
}

/** Whether a count is the provider's own: its encoding is known, and no tools or media are in it that each provider words its own way. */
export function isExactCount(request: ChatRequest, tokenizer: string | null): boolean {
  return encodingOf(tokenizer) !== null && request.tools === null && request.responseFormat === null && request.inputModalities.size === 0 && request.textBytes <= EXACT_CHARS_MAX
}

function countChat(request: ChatRequest, count: (slice: string) => number): number {
  const { messages, tools, responseFormat } = request
  const texts = [...textsOf(messages)]
  if (tools !== null) texts.push(JSON.stringify(tools))
  if (responseFormat !== null) texts.push(JSON.stringify(responseFormat))
  const toolTokens = tools === null ? 0 : TOOLS_TOKENS + TOOL_TOKENS * tools.length
  return countTexts(texts, count) + MESSAGE_TOKENS * messages.length + REPLY_TOKENS + toolTokens + mediaTokens(messages)
}

function countTexts(texts: readonly string[], count: (slice: string) => number): number {
  let chars = 0
  for (const text of texts) chars += text.length
  const step = Math.ceil(chars / EXACT_CHARS_MAX)
  let tokens = 0
  let countedChars = 0
  let position = 0
  for (const text of texts) {
    for (let start = 0; start < text.length; position += 1) {
      const end = sliceEnd(text, start)
      if (position % step === 0) {
        tokens += count(text.slice(start, end))
        countedChars += end - start
      }
      start = end
    }
  }
  return step <= 1 ? tokens : Math.ceil((tokens * chars) / countedChars)
}

/** Never between the halves of a surrogate pair, which would be counted as two broken characters. */
function sliceEnd(text: string, start: number): number {
  const end = Math.min(start + SLICE_CHARS, text.length)
  const unit = text.charCodeAt(end)
  return end < text.length && unit >= 0xdc00 && unit <= 0xdfff ? end + 1 : end
}

/** More tokens than any byte-level tokenizer can make of the input, without tokenising: one per byte and the frames of messages and tools. */
export function inputBound(request: ChatRequest): number {
  const { messages, tools, textBytes } = request
  const toolTokens = tools === null ? 0 : TOOLS_TOKENS_MAX + TOOL_TOKENS_MAX * tools.length
  return textBytes + MESSAGE_TOKENS_MAX * messages.length + MESSAGE_TOKENS_MAX + toolTokens + mediaTokens(messages)
}

/**
 * Fewer tokens than the input has, for a millionth of the price of a count: no encoding joins two words into one token.
 * It spares honest usage the count that the check of implausible usage would need.
 */
export function inputAtLeast(request: ChatRequest): number {
  let words = 0
  for (const text of textsOf(request.messages)) {
    let afterBlank = true
    for (let index = 0; index < text.length; index += 1) {
      const blank = text.charCodeAt(index) <= 0x20
      if (afterBlank && !blank) words += 1
      afterBlank = blank
    }
  }
  return words
}
