import { type Decimal, type Micro, add, ceilMicro, compare, multiply } from '../../base/money.ts'
import type { Endpoint, Model } from '../../catalog/catalog.ts'
import { type Reach, dearestSell, priceAt } from '../../catalog/price-conditions.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { METER_TABLE } from '../../tables/meter-table.ts'
import { INPUT_METERS, OUTPUT_METERS, type PriceSheet, type Usage, exactCost } from '../../tables/meters.ts'
import { contextOf } from './context-check.ts'
import { type Unmeasured, imageCount, mediaBound } from './media-tokens.ts'
import { answersPictures, asksModality, predictedTokens, searches, tierMet } from './parameter-costs.ts'
import type { PlanInput } from './plan.ts'
import { textBound } from './token-count.ts'
import { INPUT_SLACK } from './usage-bounds.ts'

/** The output expected of a request without a limit, for comparing prices. */
const EXPECTED_OUTPUT_TOKENS = 512

/**
 * The number of pictures of one answer that the hold covers. Models answer with one; if asked for many, they make about
 * as many as image protocols make at once.
 */
export const ANSWER_PICTURES_MAX = 10

/**
 * The dearest prices that an answer can meet at one endpoint. Only the answer shows to which meters its tokens belong.
 */
export interface WorstPrice {
  readonly inputToken: Decimal
  readonly outputToken: Decimal
  /** The part for each request, which does not depend on its tokens. */
  readonly fixed: Decimal
}

/**
 * Units that do not depend on the answer and are charged as the request asks for them. No provider reports them except
 * searches, whose reported count replaces this one.
 */
export function fixedUsage(request: ChatRequest, endpoint: Endpoint, inputs = 1): Usage {
  const images = request.inputModalities.has('image') ? imageCount(request.messages) * inputs : 0
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
  reach: Reach,
  hosted: HostedTools | null = null,
): WorstPrice {
  const sell = dearestSell(endpoint, reach)
  const inputModalities: ReadonlySet<string> = request.inputModalities
  const outputToken = dearest(
    sell,
    OUTPUT_METERS,
    (modality) => asksModality(request, modality) || model.outputModalities.includes(modality),
  )
  const usage = fixedUsage(request, endpoint)
  const searched = (usage.search ?? 0) * endpoint.provider.searchesMax
  const pictures = answersPictures(model, request) ? ANSWER_PICTURES_MAX : 0
  const units = exactCost({ ...usage, image_output: pictures, search: searched + (hosted?.callsMax ?? 0) }, sell)
  const predicted = predictedTokens(request, endpoint)
  return {
    inputToken: dearest(sell, INPUT_METERS, (modality) => inputModalities.has(modality)),
    outputToken,
    fixed: predicted === 0 ? units : add(units, multiply(outputToken, whole(predicted))),
  }
}

/** The dearest price that a token can have; the meter of a modality counts only if the request has that modality. */
function dearest(sell: PriceSheet, meters: typeof INPUT_METERS, has: (modality: string) => boolean): Decimal {
  let most = sell[meters[0]]
  for (const meter of meters) {
    const { modality } = METER_TABLE[meter]
    if ((modality === undefined || has(modality)) && compare(most, sell[meter]) < 0) most = sell[meter]
  }
  return most
}

/**
 * The probable cost of the request, by the prices of its hour, its length and the requested tier. A dear cache write,
 * which most requests never need, must not decide between providers.
 */
export function expectedChatCost(
  endpoint: Endpoint,
  request: ChatRequest,
  inputTokens: number,
  maxTokens: number | null,
  atMs: number,
  expected: Usage = {},
): Decimal {
  const serviceTier = tierMet(request, endpoint)
  const sell = priceAt(endpoint, 'sell', { input: inputTokens }, { atMs, serviceTier }).sheet
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
 * The most output tokens of each of `n` answers that `availableMicro` allows; negative = even the input is not
 * affordable, Infinity = output is free.
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

/** Tools that the provider runs: it bills each call, and the results count as input. */
export interface HostedTools {
  /** The most calls; this number is sent to the provider. */
  readonly callsMax: number
}

/** The most input tokens that a provider can bill, by endpoint. */
export class InputHold {
  readonly #request: ChatRequest
  readonly #tokens: PlanInput['tokens']
  readonly #hosted: HostedTools | null

  constructor(request: ChatRequest, tokens: PlanInput['tokens'], hosted: HostedTools | null) {
    this.#request = request
    this.#tokens = tokens
    this.#hosted = hosted
  }

  /** The bytes of the text, or its token count if that is the same as the provider's; never more than the context. */
  tokens(model: Model, endpoint: Endpoint, counted: boolean): number {
    const context = contextOf(model, endpoint)
    const media = mediaBound(this.#request.messages, endpoint)
    if (this.#hosted !== null || media.unmeasured.size > 0 || searches(this.#request, endpoint)) return context
    const bytes = textBound(this.#request)
    const most = counted ? this.#tokens.mostOfChat(this.#request, model.tokenizer) : null
    const text = most === null ? bytes : Math.min(bytes, most + (this.#request.unreadBytes ?? 0))
    return Math.min(context, text + media.tokens)
  }

  /** The most input tokens that can be charged for all inputs together; the hold covers `tokens` of each. */
  reach(model: Model, endpoint: Endpoint, tokens: number, inputs: number): number {
    if (this.#hosted !== null || searches(this.#request, endpoint)) return Infinity
    const most = this.#request.inputModalities.size > 0 ? contextOf(model, endpoint) : tokens
    return most * inputs + INPUT_SLACK
  }

  /**
   * Whether an answer may be charged for more than such a hold covers: because of pictures, media below the context, or
   * searches.
   */
  mayExceed(
    routes: readonly { readonly model: Model; readonly endpoint: Endpoint; readonly inputTokens: number }[],
  ): boolean {
    const { inputModalities, parameters } = this.#request
    if (this.#hosted !== null || parameters['web_search_options'] !== undefined) return true
    return routes.some(
      ({ model, endpoint, inputTokens }) =>
        answersPictures(model, this.#request) || (inputModalities.size > 0 && inputTokens < contextOf(model, endpoint)),
    )
  }

  /** Why the hold is so large, for a refusal; null = it covers only the text and the answer. */
  reason(routes: readonly { readonly model: Model; readonly endpoint: Endpoint }[]): string | null {
    const unmeasured = new Set<Unmeasured>()
    for (const { endpoint } of routes)
      for (const name of mediaBound(this.#request.messages, endpoint).unmeasured) unmeasured.add(name)
    const hosted =
      this.#hosted ?? (routes.some(({ endpoint }) => searches(this.#request, endpoint)) ? { callsMax: 1 } : null)
    if (unmeasured.size === 0 && hosted === null) return null
    const context = Math.max(...routes.map(({ model, endpoint }) => contextOf(model, endpoint)))
    const causes = [
      ...(hosted === null ? [] : [`up to ${hosted.callsMax} calls of the provider's own tools and what they read`]),
      ...(unmeasured.size === 0 ? [] : [`${[...unmeasured].join(', ')} whose tokens only the provider can count`]),
    ]
    return `The amount covers ${causes.join(', and ')}: an input of up to ${context} tokens. What is not used is given back.`
  }
}
