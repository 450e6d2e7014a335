import type { Model, Endpoint } from '../../catalog/catalog.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { inputUsage } from '../../kinds/answer/usage.ts'
import type { RerankAnswer, RerankRequest } from '../../kinds/rerank.ts'
import { rerankBody } from '../../protocols/openai/client/rerank.ts'
import { itemTokensExceeded } from '../plan/context-check.ts'
import type { PlanInput } from '../plan/plan.ts'
import { measureUsage } from '../plan/usage-bounds.ts'
import type { AdapterTable } from '../../protocols/ports/adapter.ts'
import type { AttemptStart, MeasuredUsage, Operation } from '../relay/operation.ts'
import { InputCount, type TextTokens, type UnitKind, heldTokens, servedBy, unitOperation } from './unit.ts'
import type { Usage } from '../../tables/meters.ts'

/** A search unit is a query with at most this many documents. */
const DOCUMENTS_PER_UNIT = 100
/** A document longer than this, including the query, counts as several. */
const CHUNK_TOKENS = 500

/** The input of a ranking: each document together with the query. */
class RerankInput {
  readonly #texts: readonly string[]
  readonly #query: InputCount
  readonly #documents: InputCount

  constructor({ query, documents }: RerankRequest) {
    this.#texts = documents
    this.#query = new InputCount([query])
    this.#documents = new InputCount(documents)
  }

  /** The most that an endpoint can bill for the input: bounded by bytes, or by a count if `counter` is given. */
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

  /** The length of each document is its share of the bytes: counting each separately would not change a price. */
  searches(model: Model, counter: TextTokens): number {
    const perByte = this.#documents.count(model, counter) / Math.max(1, this.#documents.bytes)
    return searchUnits(
      this.#query.count(model, counter),
      this.#texts.map((text) => Buffer.byteLength(text) * perByte),
    )
  }

  /** An upper bound: no tokenizer makes more tokens of the input. */
  get bound(): number {
    return this.#documents.bound + this.#query.bound * this.#texts.length
  }

  #held(model: Model, counter: TextTokens): number {
    return heldTokens({ bound: this.bound, count: this.tokens(model, counter), exact: this.#isExact(model, counter) })
  }

  #isExact(model: Model, counter: TextTokens): boolean {
    return this.#documents.isExact(model, counter) && this.#query.isExact(model, counter)
  }

  /** An upper bound: no count gives more search units. */
  searchesMax(): number {
    return searchUnits(
      this.#query.bytes,
      this.#texts.map((text) => Buffer.byteLength(text)),
    )
  }
}

function isSoldBySearch({ sell, buy }: Endpoint): boolean {
  return sell.search.digits > 0n || buy.search.digits > 0n
}

/** Whether tokens are measured: if they have a price, or if nothing has. */
function isSoldByTokens(endpoint: Endpoint): boolean {
  return endpoint.sell.input.digits > 0n || endpoint.buy.input.digits > 0n || !isSoldBySearch(endpoint)
}

/** Billed search units of a ranking, counted by Cohere's rule. */
function searchUnits(queryTokens: number, documentTokens: readonly number[]): number {
  // A query longer than half a chunk counts as half; otherwise no document would fit next to it.
  const room = CHUNK_TOKENS - Math.min(queryTokens, CHUNK_TOKENS / 2)
  const chunks = documentTokens.reduce((sum, tokens) => sum + Math.max(1, Math.ceil(tokens / room)), 0)
  return Math.ceil(chunks / DOCUMENTS_PER_UNIT)
}

/** Rerank (wire.md D-2.2), billed by search units or by tokens, as the endpoint is priced. */
export function rerankOperations(
  adapters: AdapterTable,
  write: typeof rerankBody = rerankBody,
): (request: RerankRequest) => Operation {
  return (request) => unitOperation(request, rerankKind(new RerankInput(request), adapters, write))
}

function rerankKind(
  input: RerankInput,
  adapters: AdapterTable,
  write: typeof rerankBody,
): UnitKind<RerankRequest, RerankAnswer> {
  return {
    type: 'rerank',
    sent: ({ topN }) => (topN === null ? [] : ['top_n']),
    check: checkQuery,
    ...servedBy(adapters, 'rerank', (adapter) => adapter.rerank),
    worstUsage: (_request, model, endpoint, tokens) => input.worst(model, endpoint, tokens),
    isEmpty: ({ results }) => results.length === 0,
    measured: (_request, { usage }, start) => measured(usage, input, start),
    body: (request, answer, identity, usage) => {
      const { input: tokens = answer.usage?.usage.input, search } = usage.report.usage
      return {
        body: write(request, answer.results, identity, {
          chargedMicro: usage.chargedMicro,
          tokens: tokens ?? null,
          searches: search ?? null,
        }),
      }
    },
  }
}

/** Providers cut documents that are too long. A query that fills the context leaves no room for a document. */
function checkQuery({ query }: RerankRequest, model: Model, tokens: PlanInput['tokens']): void {
  const { contextLength } = model
  const longer = contextLength === null ? null : tokens.findLonger([query], contextLength, model.tokenizer)
  if (contextLength !== null && longer !== null) throw itemTokensExceeded(model, contextLength, longer.tokens, null)
}

/**
 * The usage in the units by which the endpoint is sold: nobody would pay for tokens in the log of a search (wire.md
 * D-6.1).
 */
function measured(
  usage: UsageReport | null,
  input: RerankInput,
  { candidate: { model, endpoint }, tokens: counter }: AttemptStart,
): MeasuredUsage {
  const { input: saidTokens = null, search: saidSearches = null } = usage?.usage ?? {}
  const bySearch = isSoldBySearch(endpoint)
  const byTokens = isSoldByTokens(endpoint)
  const tokens = byTokens ? (saidTokens ?? input.tokens(model, counter)) : null
  const searches = bySearch ? (saidSearches ?? input.searches(model, counter)) : null
  const reported = inputUsage({ tokens, searches })
  const read = inputUsage({ tokens: tokens ?? 0 })
  const billed = measureUsage(read, { inputMax: () => input.bound, outputMax: 0, count: () => read })
  const most = searches === null || searches <= 1 ? 1 : input.searchesMax()
  const report = inputUsage({
    tokens: tokens === null ? null : billed.report.inputTokens,
    searches: searches === null ? null : Math.min(searches, most),
  })
  return {
    report,
    reported,
    flagged: usage?.implausible === true || billed.flagged || (searches ?? 0) > most,
    basis: (byTokens && saidTokens === null) || (bySearch && saidSearches === null) ? 'counted' : 'provider_usage',
  }
}
