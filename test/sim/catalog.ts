import type { Endpoint, Snapshot } from '../../src/catalog/catalog.ts'
import { chat, endpoint, model, prices, snapshot } from '../../src/plan/plan-fixture.ts'
import type { ChatRequest } from '../../src/kinds/chat-request.ts'
import type { Random } from './random.ts'

const MODEL = 'sim/model'

/** Requests of every shape that the money path tells apart, parsed once. */
export const REQUESTS: readonly ChatRequest[] = [false, true].flatMap((stream) =>
  [12, 40, null].map((max_tokens) =>
    chat({ model: MODEL, messages: [{ role: 'user', content: 'Say something about the weather' }], stream, ...(max_tokens === null ? {} : { max_tokens }), ...(stream ? { stream_options: { include_usage: true } } : {}) }),
  ),
)

/** Versions of the prices, of which the newest is sold; a request keeps the one it was admitted under. */
export class SimCatalog {
  readonly #random: Random
  readonly #midstreamError: 'free' | 'delivered'
  readonly #timezone: string
  #current: Snapshot
  /** By price version. */
  readonly versions = new Map<number, Snapshot>()

  constructor(random: Random) {
    this.#random = random
    this.#midstreamError = random.chance(0.25) ? 'delivered' : 'free'
    this.#timezone = random.pick(['UTC', 'UTC', 'Europe/Moscow', 'America/New_York'])
    this.#current = this.#make(1)
  }

  current(): Snapshot {
    return this.#current
  }

  changePrices(): void {
    this.#current = this.#make(this.#current.priceVersion + 1)
  }

  #make(priceVersion: number): Snapshot {
    const base = snapshot([model(MODEL, { tokenizer: 'o200k_base', maxCompletionTokens: 400, endpoints: [this.#endpoint('alpha', true), this.#endpoint('beta', false), this.#endpoint('gamma', this.#random.chance(0.5))] })])
    const made: Snapshot = { ...base, priceVersion, settings: { ...base.settings, timezone: this.#timezone, midstreamError: this.#midstreamError } }
    this.versions.set(priceVersion, made)
    return made
  }

  /** Prices with more digits than a micro-ruble has, so that rounding matters. */
  #endpoint(slug: string, cancelStopsBilling: boolean): Endpoint {
    const plain = endpoint(slug)
    const price = (most: number): string => `${this.#random.below(most)}.${1 + this.#random.below(99)}${this.#random.below(10)}7`
    return { ...plain, provider: { ...plain.provider, cancelStopsBilling }, sell: prices(price(5), price(30)), buy: prices(price(3), price(20)) }
  }
}
