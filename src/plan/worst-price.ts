import type { Endpoint, Model } from '../catalog/catalog.ts'
import type { ChatRequest } from '../kinds/chat-request.ts'
import { exactCost, type Usage } from '../meters.ts'
import { add, ceilMicro, compare, multiply, type Decimal, type Micro } from '../money.ts'
import type { HostedTools } from './input-hold.ts'
import { imageCount } from './media-tokens.ts'
import { predictedTokens, searches } from './parameter-costs.ts'

/** Output expected of a request that names none, for comparing prices. */
const EXPECTED_OUTPUT_TOKENS = 512

/**
 * Pictures of one answer that are held for: models answer with one, and when they are asked for many with about as many
 * as image protocols make at once.
 */
export const ANSWER_PICTURES_MAX = 10

/**
 * The dearest prices that an answer of a request can meet at one endpoint: which meters its tokens will fall under is
 * known only afterwards.
 */
export interface WorstPrice {
  readonly inputToken: Decimal
  readonly outputToken: Decimal
  /** Per request, whatever its tokens. */
  readonly fixed: Decimal
}

/**
 * What a request uses whatever its answer says: no provider reports these units, so their price is charged by what was
 * asked.
 */
export function fixedUsage(request: ChatRequest, endpoint: Endpoint, inputs = 1): Usage {
  const images = imageCount(request.messages) * inputs
  return {
    request: inputs,
    ...(images === 0 ? {} : { image_input: images }),
    ...(searches(request, endpoint) ? { search: inputs } : {}),
  }
}

export function worstPrice(
  model: Model,
  endpoint: Endpoint,
  request: ChatRequest,
  hosted: HostedTools | null = null,
): WorstPrice {
  const { sell } = endpoint
  const audioIn = request.inputModalities.has('audio')
  const modalities = request.parameters['modalities']
  const asks = (name: string): boolean => Array.isArray(modalities) && modalities.includes(name)
  const inputs = [sell.input, sell.cache_read, sell.cache_write, sell.cache_write_1h]
  const outputs = [sell.output, sell.reasoning]
  const outputToken = dearest(
    asks('audio') || model.outputModalities.includes('audio') ? [...outputs, sell.audio_output] : outputs,
  )
  const usage = fixedUsage(request, endpoint)
  const pictures = model.outputModalities.includes('image') || asks('image') ? ANSWER_PICTURES_MAX : 0
  const units = exactCost(
    { ...usage, image_output: pictures, search: (usage.search ?? 0) + (hosted?.callsMax ?? 0) },
    sell,
  )
  const predicted = predictedTokens(request, endpoint)
  return {
    inputToken: dearest(audioIn ? [...inputs, sell.audio_input] : inputs),
    outputToken,
    fixed: predicted === 0 ? units : add(units, multiply(outputToken, whole(predicted))),
  }
}

function dearest(prices: readonly Decimal[]): Decimal {
  return prices.reduce((left, right) => (compare(left, right) < 0 ? right : left))
}

/**
 * What the request will probably cost, by the plain prices: a dear cache write that most requests never meet must not
 * decide between providers.
 */
export function expectedChatCost(
  endpoint: Endpoint,
  request: ChatRequest,
  inputTokens: number,
  maxTokens: number | null,
  expected: Usage = {},
): Decimal {
  const { sell } = endpoint
  const output = multiply(sell.output, whole((maxTokens ?? EXPECTED_OUTPUT_TOKENS) * request.n))
  return add(
    exactCost({ ...expected, ...fixedUsage(request, endpoint) }, sell),
    add(multiply(sell.input, whole(inputTokens)), output),
  )
}

/** Exact price of `n` answers to `inputTokens` with `outputTokens` each. */
export function worstCost(price: WorstPrice, inputTokens: number, outputTokens: number, n: number): Decimal {
  const one = add(
    add(price.fixed, multiply(price.inputToken, whole(inputTokens))),
    multiply(price.outputToken, whole(outputTokens)),
  )
  return multiply(one, whole(n))
}

export function worstMicro(price: WorstPrice, inputTokens: number, outputTokens: number, n: number): Micro {
  return ceilMicro(worstCost(price, inputTokens, outputTokens, n))
}

/**
 * The most output tokens each of `n` answers may have within `availableMicro`; below 0 where not even the input is
 * affordable, Infinity where output is free.
 */
export function affordableTokens(price: WorstPrice, inputTokens: number, n: number, availableMicro: Micro): number {
  const input = worstCost(price, inputTokens, 0, n)
  const left = add({ digits: availableMicro, scale: 0 }, { digits: -input.digits, scale: input.scale })
  if (left.digits < 0n) return -1
  const perToken = multiply(price.outputToken, whole(n))
  if (perToken.digits === 0n) return Infinity
  const scale = BigInt(Math.max(left.scale, perToken.scale))
  const dividend = left.digits * 10n ** (scale - BigInt(left.scale))
  const tokens = dividend / (perToken.digits * 10n ** (scale - BigInt(perToken.scale)))
  return tokens > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : Number(tokens)
}

function whole(units: number): Decimal {
  return { digits: BigInt(units), scale: 0 }
}
