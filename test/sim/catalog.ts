import type { Endpoint, Snapshot } from '../../src/catalog/catalog.ts'
import { decimal, endpoint, model, prices, snapshot } from '../harness/plan-fixture.ts'
import { drawConditions } from './conditions.ts'
import type { Random } from './random.ts'
import { MODELS, type SimType } from './requests.ts'

const OUTPUT_MAX = 400
/** The end of November 2026 by zone, Unix ms. */
const MONTH_ENDS = {
  UTC: Date.UTC(2026, 11, 1),
  'Europe/Moscow': Date.UTC(2026, 10, 30, 21),
  'America/New_York': Date.UTC(2026, 11, 1, 5),
} as const

/** Versions of the prices, of which the newest is sold; a request keeps the one under which it was admitted. */
export class SimCatalog {
  readonly #random: Random
  readonly #conditions: Random | null
  readonly #midstreamError: 'free' | 'delivered'
  #timezone: keyof typeof MONTH_ENDS
  /** Providers with native completions take all prompts in one call. */
  readonly takesList: boolean
  #current: Snapshot
  /** By price version. */
  readonly versions = new Map<number, Snapshot>()

  /** `conditions`: its rows have prices under conditions; null = they have none. */
  constructor(random: Random, conditions: Random | null) {
    this.#random = random
    this.#conditions = conditions
    this.#midstreamError = random.chance(0.25) ? 'delivered' : 'free'
    this.#timezone = random.pick(['UTC', 'UTC', 'Europe/Moscow', 'America/New_York'] as const)
    this.takesList = random.chance(0.5)
    this.#current = this.#make(1)
  }

  current(): Snapshot {
    return this.#current
  }

  isDue(): boolean {
    return false
  }

  refresh(): Promise<unknown> {
    return Promise.resolve()
  }

  get monthEndMs(): number {
    return MONTH_ENDS[this.#timezone]
  }

  moveZone(): void {
    this.#timezone = this.#random.pick(['UTC', 'Europe/Moscow', 'America/New_York'] as const)
    this.changePrices()
  }

  changePrices(): void {
    this.#current = this.#make(this.#current.priceVersion + 1)
  }

  #make(priceVersion: number): Snapshot {
    const ofType = (type: SimType): readonly Endpoint[] => [
      this.#endpoint(type, 'alpha', true),
      this.#endpoint(type, 'beta', false),
      this.#endpoint(type, 'gamma', this.#random.chance(0.5)),
    ]
    const base = snapshot([
      model(MODELS.chat, { tokenizer: 'o200k_base', maxCompletionTokens: OUTPUT_MAX, endpoints: ofType('chat') }),
      model(MODELS.embeddings, {
        type: 'embeddings',
        tokenizer: 'o200k_base',
        maxCompletionTokens: null,
        endpoints: ofType('embeddings'),
      }),
      model(MODELS.rerank, {
        type: 'rerank',
        tokenizer: 'o200k_base',
        maxCompletionTokens: null,
        endpoints: ofType('rerank'),
      }),
    ])
    const made: Snapshot = {
      ...base,
      priceVersion,
      settings: { ...base.settings, timezone: this.#timezone, midstreamError: this.#midstreamError },
    }
    this.versions.set(priceVersion, made)
    return made
  }

  /**
   * Prices with more digits than a micro-ruble, so that rounding matters; some have a fee for each prompt, and a
   * reranking is sold by searches, by tokens or by both.
   */
  #endpoint(type: SimType, slug: string, cancelStopsBilling: boolean): Endpoint {
    const plain = endpoint(slug)
    const fee = this.#random.chance(0.5)
    const bySearch = type === 'rerank' && slug !== 'beta'
    const byTokens = !bySearch || slug !== 'alpha'
    const sheet = (input: number, output: number, random = this.#random): Endpoint['sell'] => {
      const made = prices(priceOf(random, input), priceOf(random, output))
      const read = byTokens ? made : prices('0', '0')
      return {
        ...read,
        request: type === 'chat' && fee ? decimal(priceOf(random, output * 3)) : read.request,
        search: bySearch ? decimal(priceOf(random, output * 5)) : read.search,
      }
    }
    const conditions = this.#conditions
    return {
      ...plain,
      id: `${slug}/${type}`,
      provider: {
        ...plain.provider,
        cancelStopsBilling,
        ...(conditions === null ? {} : { servesAsAsked: conditions.chance(0.5) }),
      },
      nativeCompletions: slug !== 'beta',
      sell: sheet(5, 30),
      buy: sheet(3, 20),
      ...(conditions === null
        ? {}
        : {
            conditions: drawConditions(
              conditions,
              byTokens,
              () => sheet(9, 50, conditions),
              () => sheet(7, 40, conditions),
            ),
          }),
    }
  }
}

function priceOf(random: Random, most: number): string {
  return `${random.below(most)}.${1 + random.below(99)}${random.below(10)}7`
}
