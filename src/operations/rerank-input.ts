import type { Endpoint, Model } from '../catalog/catalog.ts'
import type { RerankRequest } from '../kinds/rerank/request.ts'
import type { Usage } from '../tables/meters.ts'
import { heldTokens, InputCount, type TextTokens } from '../pay/operations/input-count.ts'

/** A search unit is a query over at most this many documents. */
const DOCUMENTS_PER_UNIT = 100
/** A longer document, the query included, counts as several. */
const CHUNK_TOKENS = 500

/** The input of a ranking: each document together with the query. */
export class RerankInput {
  readonly #texts: readonly string[]
  readonly #query: InputCount
  readonly #documents: InputCount

  constructor({ query, documents }: RerankRequest) {
    this.#texts = documents
    this.#query = new InputCount([query])
    this.#documents = new InputCount(documents)
  }

  /** The most that an endpoint can bill for it: by bytes, or by a count if `counter` is given. */
  worst(model: Model, endpoint: Endpoint, counter: TextTokens | null): Usage {
    const searches = isSoldBySearch(endpoint)
      ? {
          search:
            counter !== null && this.#isExact(model, counter) ? this.searches(model, counter) : this.searchesMax(),
        }
      : {}
    return isSoldByTokens(endpoint)
      ? { input: counter === null ? this.bound : this.#held(model, counter), ...searches }
      : searches
  }

  tokens(model: Model, counter: TextTokens): number {
    return this.#documents.count(model, counter) + this.#query.count(model, counter) * this.#texts.length
  }

  /** The length of each document follows from its part of the bytes: counting each would change no price. */
  searches(model: Model, counter: TextTokens): number {
    const perByte = this.#documents.count(model, counter) / Math.max(1, this.#documents.bytes)
    return searchUnits(
      this.#query.count(model, counter),
      this.#texts.map((text) => Buffer.byteLength(text) * perByte),
    )
  }

  /** No tokenizer makes more tokens of it. */
  get bound(): number {
    return this.#documents.bound + this.#query.bound * this.#texts.length
  }

  #held(model: Model, counter: TextTokens): number {
    return heldTokens({ bound: this.bound, count: this.tokens(model, counter), exact: this.#isExact(model, counter) })
  }

  #isExact(model: Model, counter: TextTokens): boolean {
    return this.#documents.isExact(model, counter) && this.#query.isExact(model, counter)
  }

  /** No count gives more search units. */
  searchesMax(): number {
    return searchUnits(
      this.#query.bytes,
      this.#texts.map((text) => Buffer.byteLength(text)),
    )
  }
}

export function isSoldBySearch({ sell, buy }: Endpoint): boolean {
  return sell.search.digits > 0n || buy.search.digits > 0n
}

/** Tokens are reported even where they cost nothing. */
export function isSoldByTokens(endpoint: Endpoint): boolean {
  return endpoint.sell.input.digits > 0n || endpoint.buy.input.digits > 0n || !isSoldBySearch(endpoint)
}

/** Billed search units of a ranking, counted by Cohere's rule. */
function searchUnits(queryTokens: number, documentTokens: readonly number[]): number {
  // A query longer than half a chunk counts as half, or no document would fit beside it.
  const room = CHUNK_TOKENS - Math.min(queryTokens, CHUNK_TOKENS / 2)
  const chunks = documentTokens.reduce((sum, tokens) => sum + Math.max(1, Math.ceil(tokens / room)), 0)
  return Math.ceil(chunks / DOCUMENTS_PER_UNIT)
}
