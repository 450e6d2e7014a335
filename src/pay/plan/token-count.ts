import type { ChatRequest } from '../../kinds/chat/request.ts'
import { textsOf } from '../../kinds/chat/parts.ts'
import { assert } from '../../base/assert.ts'
import { mediaTokens } from './media-tokens.ts'
import { Encoding, ENCODING_NAMES, type EncodingName } from './tokens/encoding.ts'

/** Texts are counted in slices of this length, as many as the time allows; slicing costs less than 1 % of the count. */
const SLICE_CHARS = 1_024
/**
 * No body may stall the loop for 100 ms (reliability.md R11), so all counts in one turn of the loop share this time;
 * for an answer without usage, both its input and its output are counted. Only the elapsed time is a measure, because
 * no cheap look at a text predicts it: prose and code take 0.05 µs a character, random letters and ideographs up to 0.5
 * µs.
 */
const COUNT_MS_MAX = 60
/** The slices that are counted however long it takes: 8 KiB of text are always counted in full. */
const SLICES_MIN = 8
const UTF8_BYTES_PER_UNIT = 3
const MESSAGE_TOKENS = 4
const MESSAGE_TOKENS_MAX = 8
const REPLY_TOKENS = 3
const TOOL_TOKENS = 8
const TOOL_TOKENS_MAX = 16
const TOOLS_TOKENS = 16
/** Providers put up to about 600 tokens of instructions before the tools. */
const TOOLS_TOKENS_MAX = 640

/** Counts tokens with the model's own encoding if it is known, otherwise with `o200k_base`. */
export interface TokenCounter {
  countText(text: string, tokenizer: string | null): number
  /** Tokens of the whole input: texts, roles, tools, schema, and media by a rough rule. */
  countChat(request: ChatRequest, tokenizer: string | null): number
  /** The same if it is counted already; null = it is not. */
  knownChat(request: ChatRequest, tokenizer: string | null): number | null
  /**
   * About as many, from a sample of 8 KiB if the input is longer: a count of 100 kB costs three times as much as their
   * answer.
   */
  estimateChat(request: ChatRequest, tokenizer: string | null): number
  /**
   * The most tokens of everything except media, by the model's own encoding. null = its encoding is unknown: the count
   * by another encoding is no bound, and may be a fifth of the true one.
   */
  mostOfChat(request: ChatRequest, tokenizer: string | null): number | null
  /** Tokens of texts that are read one by one; `exact` = the provider's count would be the same. */
  countTexts(texts: readonly string[], tokenizer: string | null): { readonly tokens: number; readonly exact: boolean }
  /**
   * Whether some text has more than `max` tokens; the longest text is tried first. null = none was found within the
   * time of a count.
   */
  findLonger(
    texts: readonly string[],
    max: number,
    tokenizer: string | null,
  ): { readonly index: number; readonly tokens: number } | null
  /** Loads the default encoding (25 ms and 10 MB), so that the first request near a limit does not wait for it. */
  warm(): void
}

/**
 * A counter that loads each encoding when it is first needed. A text too long to be counted in full is sampled by
 * `random`: a client who could predict the sample could hide most of a text from the count.
 */
export function createTokenCounter(
  // oxlint-disable-next-line eslint/no-restricted-properties -- picks the slices to count; guesses gain nothing
  random: () => number = Math.random,
  monotonicMs: () => number = () => performance.now(),
): TokenCounter {
  const sample: Sampler = { random, time: new TurnTime(monotonicMs) }
  const loaded = new Map<EncodingName, Encoding>()
  const counts = new WeakMap<ChatRequest, InputCount>()
  /** Synchronous, because the plan is: a request near a limit cannot be priced before the encoding is loaded. */
  const counterOf = (tokenizer: string | null): ((slice: string) => number) => {
    const name = nameOf(tokenizer)
    const encoding = loaded.get(name) ?? Encoding.load(name)
    loaded.set(name, encoding)
    return (slice) => encoding.count(slice)
  }
  const countText = (text: string, tokenizer: string | null): number =>
    countTexts([text], counterOf(tokenizer), sample).tokens
  const knownInput = (request: ChatRequest, tokenizer: string | null): InputCount | null => {
    const known = counts.get(request)
    return known?.name === nameOf(tokenizer) ? known : null
  }
  const countInput = (request: ChatRequest, tokenizer: string | null): InputCount => {
    const known = knownInput(request, tokenizer)
    if (known !== null) return known
    // The time includes the writing of a schema of up to 10 MB as text.
    const startMs = sample.time.begin()
    const { tokens, counted, rest } = countTexts(inputTexts(request), counterOf(tokenizer), sample, { startMs })
    const bytes = rest.reduce((sum, { text, start, end }) => sum + Buffer.byteLength(text.slice(start, end)), 0)
    const count = { name: nameOf(tokenizer), tokens, most: counted + bytes }
    counts.set(request, count)
    return count
  }
  const sampled = (request: ChatRequest, tokenizer: string | null): Counted =>
    countTexts(inputTexts(request), counterOf(tokenizer), sample, { slicesMax: SLICES_MIN })
  const whole = (request: ChatRequest, { tokens }: Pick<InputCount, 'tokens'>): number =>
    tokens + frameTokens(request) + mediaTokens(request.messages)
  return {
    countText,
    countChat: (request, tokenizer) => whole(request, countInput(request, tokenizer)),
    knownChat(request, tokenizer) {
      const known = knownInput(request, tokenizer)
      return known === null ? null : whole(request, known)
    },
    estimateChat: (request, tokenizer) => whole(request, knownInput(request, tokenizer) ?? sampled(request, tokenizer)),
    mostOfChat(request, tokenizer) {
      if (encodingOf(tokenizer) === null) return null
      const { most } = countInput(request, tokenizer)
      const { tools, responseFormat } = request
      // Each provider writes tools and schemas in a form of its own.
      return tools === null && responseFormat === null
        ? most + frameTokens(request)
        : Math.ceil((most * 11) / 10) + frameTokensMax(request)
    },
    countTexts(texts, tokenizer) {
      const { tokens, rest } = countTexts(texts, counterOf(tokenizer), sample)
      return { tokens, exact: rest.length === 0 && encodingOf(tokenizer) !== null }
    },
    findLonger(texts, max, tokenizer) {
      for (const { text, index } of longestFirst(texts, max)) {
        const { tokens } = countTexts([text], counterOf(tokenizer), sample)
        if (tokens > max) return { index, tokens }
        if (!sample.time.isLeft(sample.time.begin())) return null
      }
      return null
    },
    warm: () => void countText('warm', null),
  }
}

function nameOf(tokenizer: string | null): EncodingName {
  return encodingOf(tokenizer) ?? 'o200k_base'
}

/** The texts that may have more than `max` tokens, since a byte makes at most one token; the longest come first. */
function longestFirst(
  texts: readonly string[],
  max: number,
): readonly { readonly text: string; readonly index: number }[] {
  return texts
    .map((text, index) => ({ text, index }))
    .filter(({ text }) => text.length * UTF8_BYTES_PER_UNIT > max && Buffer.byteLength(text) > max)
    .toSorted((left, right) => right.text.length - left.text.length)
}

function encodingOf(tokenizer: string | null): EncodingName | null {
  return ENCODING_NAMES.find((name) => name === tokenizer) ?? null
}

function inputTexts({ messages, tools, responseFormat }: ChatRequest): readonly string[] {
  const texts = [...textsOf(messages)]
  if (tools !== null) texts.push(JSON.stringify(tools))
  if (responseFormat !== null) texts.push(JSON.stringify(responseFormat))
  return texts
}

/** Tokens around the texts: the frames of messages and tools. */
function frameTokens({ messages, tools }: ChatRequest): number {
  const toolTokens = tools === null ? 0 : TOOLS_TOKENS + TOOL_TOKENS * tools.length
  return MESSAGE_TOKENS * messages.length + REPLY_TOKENS + toolTokens
}

function frameTokensMax({ messages, tools }: ChatRequest): number {
  const toolTokens = tools === null ? 0 : TOOLS_TOKENS_MAX + TOOL_TOKENS_MAX * tools.length
  return MESSAGE_TOKENS_MAX * (messages.length + 1) + toolTokens
}

interface Slice {
  readonly text: string
  readonly start: number
  readonly end: number
}

interface Sampler {
  readonly random: () => number
  readonly time: TurnTime
}

interface Counted {
  /** The counted tokens, scaled to the whole text. */
  readonly tokens: number
  readonly counted: number
  /** The slices that were not counted for lack of time. */
  readonly rest: readonly Slice[]
}

interface InputCount {
  readonly name: EncodingName
  readonly tokens: number
  /** The counted tokens, plus a token for each byte of the rest. */
  readonly most: number
}

/** The time that counts take in one turn of the event loop. */
class TurnTime {
  readonly #monotonicMs: () => number
  #usedMs = 0
  #isFresh = true

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** Begins a count. */
  begin(): number {
    if (this.#isFresh) {
      this.#isFresh = false
      setImmediate(() => {
        this.#isFresh = true
        this.#usedMs = 0
      })
    }
    return this.#monotonicMs()
  }

  /** Whether the count that began at `startMs` may continue. */
  isLeft(startMs: number): boolean {
    return this.#usedMs + this.#monotonicMs() - startMs < COUNT_MS_MAX
  }

  end(startMs: number): void {
    this.#usedMs += this.#monotonicMs() - startMs
  }
}

/** Counts slices in random order until all are counted or the time of this turn is up. */
function countTexts(
  texts: readonly string[],
  count: (slice: string) => number,
  { random, time }: Sampler,
  { startMs = time.begin(), slicesMax = Infinity }: { readonly startMs?: number; readonly slicesMax?: number } = {},
): Counted {
  const slices = slicesOf(texts)
  let counted = 0
  let chars = 0
  let left = slices.length
  const isWanted = (done: number): boolean => done < slicesMax && (done < SLICES_MIN || time.isLeft(startMs))
  while (left > 0 && isWanted(slices.length - left)) {
    const { text, start, end } = takeSlice(slices, Math.floor(random() * left), left - 1)
    counted += count(text.slice(start, end))
    chars += end - start
    left -= 1
  }
  time.end(startMs)
  if (left === 0) return { tokens: counted, counted, rest: [] }
  const total = texts.reduce((sum, { length }) => sum + length, 0)
  return { tokens: Math.ceil((counted * total) / chars), counted, rest: slices.slice(0, left) }
}

function slicesOf(texts: readonly string[]): Slice[] {
  const slices: Slice[] = []
  for (const text of texts) {
    for (let start = 0; start < text.length;) {
      const end = sliceEnd(text, start)
      slices.push({ text, start, end })
      start = end
    }
  }
  return slices
}

/** The slice at `index`, replaced by the last slice: a shuffle that goes only as far as needed. */
function takeSlice(slices: Slice[], index: number, last: number): Slice {
  const taken = slices[index]
  const moved = slices[last]
  assert(taken !== undefined && moved !== undefined, 'A slice is taken from those that are left.')
  slices[index] = moved
  return taken
}

/** The end of a slice, never between the halves of a surrogate pair, which would count as two broken characters. */
function sliceEnd(text: string, start: number): number {
  const end = Math.min(start + SLICE_CHARS, text.length)
  const unit = text.charCodeAt(end)
  return end < text.length && unit >= 0xdc00 && unit <= 0xdfff ? end + 1 : end
}

/**
 * An upper bound of the tokens of everything except media for any byte-level tokenizer, without tokenising: one per
 * byte, and the frames of messages and tools.
 */
export function textBound(request: ChatRequest): number {
  return request.textBytes + frameTokensMax(request)
}

/** The same, plus media by a rough rule: good enough to compare with a context, but not a bound. */
export function inputBound(request: ChatRequest): number {
  return textBound(request) + mediaTokens(request.messages)
}
