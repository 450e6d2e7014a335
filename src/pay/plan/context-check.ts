import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { ApiError } from '../../base/errors.ts'

/** The size of a request's input: its bytes bound it at no cost, and it is counted only on demand. */
export interface InputMeasure {
  /** No tokenizer makes more tokens of the text; media are included by a rough rule. */
  readonly bound: number
  count(model: Model): number
}

const RESERVE_TOKENS = 256
const RESERVE_DIVISOR = 50
/** Tokens left free by a computed max_tokens, because providers count tokens for the framing of messages. */
const OUTPUT_ROOM_TOKENS = 64
/** The catalogue requires a context for chat models; a model without one gets this bound. */
const CONTEXT_TOKENS_DEFAULT = 131_072

export function contextOf(model: Model, endpoint: Endpoint | null): number {
  const context = model.contextLength ?? CONTEXT_TOKENS_DEFAULT
  return Math.min(context, endpoint?.contextLength ?? context)
}

/** The most tokens of an answer: its own bound, else the whole context. */
export function answerMax(model: Model, endpoint: Endpoint): number {
  return documentedMax(model, endpoint) ?? contextOf(model, endpoint)
}

/** The longest answer by the catalogue; null = it states none. */
export function documentedMax(model: Model, endpoint: Endpoint): number | null {
  return endpoint.maxCompletionTokens ?? model.maxCompletionTokens
}

/**
 * The most input tokens of a model: a reserve of 256 tokens and 2 % of the context absorbs the error of the count
 * (wire.md D-10.1).
 */
export function maxInputTokens(context: number): number {
  return context - Math.min(RESERVE_TOKENS + Math.ceil(context / RESERVE_DIVISOR), Math.floor(context / 2))
}

/**
 * Checks the input and an explicit `maxTokens` (null and -1 are computed later) against the model's context. Returns
 * whether the count was needed. Every number in a refusal comes from the count.
 */
export function checkContext(model: Model, maxTokens: number | null, measure: InputMeasure): boolean {
  const context = contextOf(model, null)
  const maxInput = maxInputTokens(context)
  const output = maxTokens === null || maxTokens === -1 ? 0 : maxTokens
  if (measure.bound <= maxInput && measure.bound + output <= context && output < context) return false
  const input = measure.count(model)
  if (input > maxInput) throw inputTokensExceeded(model, context, input, maxInput)
  if (output >= context || input + output > context) throw tokenLimitExceeded(model, context, input, output)
  return true
}

/**
 * The refusal of one item. The model reads the item separately and writes no answer to it, so it may fill the context
 * (wire.md D-2.1).
 */
export function itemTokensExceeded(model: Model, context: number, input: number, index: number | null): ApiError {
  return inputTokensExceeded(model, context, input, context, index === null ? {} : { input_index: index })
}

function inputTokensExceeded(
  { id }: Model,
  context: number,
  input: number,
  maxInput: number,
  place: Readonly<Record<string, number>> = {},
): ApiError {
  const message = `This model's maximum context length is ${context} tokens. Model ${id}: your input is ${input} tokens, the maximum allowed input is ${maxInput} tokens. Please reduce the length of the messages.`
  return new ApiError('input_tokens_exceeded', message, {
    metadata: { context_length: context, input_tokens: input, max_input_tokens: maxInput, ...place },
    context: { input, output: 0, limit: maxInput },
  })
}

function tokenLimitExceeded({ id }: Model, context: number, input: number, output: number): ApiError {
  // Agents shorten the conversation when they read these first words, which are OpenAI's.
  const message = `This model's maximum context length is ${context} tokens. Total token limit per request exceeded for model ${id}: input ${input} + max_tokens ${output} = ${input + output} tokens, the limit is ${context}. Reduce the length of the messages or lower max_tokens.`
  return new ApiError('token_limit_exceeded', message, { context: { input, output, limit: context } })
}

/**
 * The computed max_tokens for `-1` and for an omitted value: the rest of the context, at most `most`. Bytes replace the
 * count unless they would halve the answer.
 */
export function roomFor(
  context: number,
  most: number,
  model: Model,
  measure: InputMeasure,
  counted: boolean,
): { readonly tokens: number; readonly counted: boolean } {
  const left = (input: number): number => Math.max(1, Math.min(most, context - input - OUTPUT_ROOM_TOKENS))
  const byBytes = left(measure.bound)
  if (!counted && byBytes * 2 >= most) return { tokens: byBytes, counted: false }
  return { tokens: left(measure.count(model)), counted: true }
}
