import type { Endpoint, Model } from '../../catalog/catalog.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { contextOf } from './context-check.ts'
import { mediaBound, type Unmeasured } from './media-tokens.ts'
import { answersPictures, searches } from './parameter-costs.ts'
import type { PlanInput } from './plan.ts'
import { textBound } from './token-count.ts'
import { INPUT_SLACK } from './usage-bounds.ts'

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
