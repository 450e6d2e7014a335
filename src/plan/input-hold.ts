import type { Endpoint, Model } from '../catalog/catalog.ts'
import type { ChatRequest } from '../kinds/chat-request.ts'
import { contextOf } from './context-check.ts'
import { mediaBound, type Unmeasured } from './media-bound.ts'
import { searches } from './parameter-costs.ts'
import type { PlanInput } from './plan.ts'
import { textBound } from './token-count.ts'

/** Tools that the provider runs by itself: it bills each call, and reads as input what they bring. */
export interface HostedTools {
  /** The most calls; the provider is told. */
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

  /** By the bytes of the text, or by its count where that is the provider's own; never more than the context holds. */
  tokens(model: Model, endpoint: Endpoint, counted: boolean): number {
    const context = contextOf(model, endpoint)
    const media = mediaBound(this.#request.messages, endpoint)
    if (this.#hosted !== null || media.unmeasured.size > 0 || searches(this.#request, endpoint)) return context
    const bytes = textBound(this.#request)
    const text = counted ? Math.min(bytes, this.#tokens.mostOfChat(this.#request, model.tokenizer) ?? bytes) : bytes
    return Math.min(context, text + media.tokens)
  }

  /** Why the hold is as large as it is, for a refusal; null = it is for the text and the answer alone. */
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
