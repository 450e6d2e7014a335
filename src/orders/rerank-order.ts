import type { Model } from '../catalog/catalog.ts'
import type { UsageReport } from '../kinds/chat-answer.ts'
import { inputUsage } from '../kinds/input-usage.ts'
import type { RerankAnswer } from '../kinds/rerank-answer.ts'
import { rerankBody } from '../kinds/rerank-body.ts'
import type { RerankRequest } from '../kinds/rerank-request.ts'
import { itemTokensExceeded } from '../plan/context-check.ts'
import type { PlanInput } from '../plan/plan.ts'
import { searchUnitsMax } from '../plan/search-units.ts'
import { boundUsage } from '../plan/usage-bounds.ts'
import type { AdapterTable } from '../providers/adapter.ts'
import type { AttemptStart, MeasuredUsage, Order } from '../relay/order.ts'
import { kindParameters } from './kind-parameters.ts'
import { isSoldBySearch, isSoldByTokens, RerankInput } from './rerank-input.ts'
import { unitOrder, type UnitKind } from './unit-order.ts'

/** Rerank (wire.md D-2.2), billed by search units or by tokens, as the endpoint is priced. */
export function rerankOrders(table: AdapterTable): (request: RerankRequest) => Order {
  const adapters = kindParameters(table, 'rerank')
  return (request) => unitOrder(request, rerankKind(new RerankInput(request), table, adapters))
}

function rerankKind(input: RerankInput, table: AdapterTable, adapters: PlanInput['adapters']): UnitKind<RerankRequest, RerankAnswer> {
  return {
    type: 'rerank',
    modelType: 'rerank',
    endpointName: 'rerank',
    adapters,
    sent: ({ topN }) => (topN === null ? [] : ['top_n']),
    check: checkQuery,
    able: (_request, { provider }) => table.get(provider.adapter)?.rerank !== undefined,
    worstUsage: (_request, model, endpoint, tokens) => input.worst(model, endpoint, tokens),
    ask: (adapter, call, sink) => {
      if (adapter.rerank === undefined) throw new Error(`Adapter '${adapter.name}' has no rerank: the plan lets only those through that have.`)
      return adapter.rerank(call, sink)
    },
    isEmpty: ({ results }) => results.length === 0,
    upstreamId: ({ upstreamId }) => upstreamId,
    measured: (_request, { usage }, start) => measured(usage, input, start),
    body: (request, answer, identity, usage) => {
      const { input: tokens = answer.usage?.usage.input, search } = usage.report.usage
      return { body: rerankBody(request, answer.results, identity, { chargedMicro: usage.chargedMicro, tokens: tokens ?? null, searches: search ?? null }) }
    },
  }
}

/** Providers cut documents that are too long; a query that fills the context by itself leaves room for none of them. */
function checkQuery({ query }: RerankRequest, model: Model, tokens: PlanInput['tokens']): void {
  const { contextLength } = model
  const longer = contextLength === null ? null : tokens.findLonger([query], contextLength, model.tokenizer)
  if (contextLength !== null && longer !== null) throw itemTokensExceeded(model, contextLength, longer.tokens, null)
}

/** Only what the endpoint is sold by: tokens in the log of a search would be charged by nobody (wire.md D-6.1). */
function measured(usage: UsageReport | null, input: RerankInput, { candidate: { model, endpoint }, tokens: counter }: AttemptStart): MeasuredUsage {
  const { input: saidTokens, search: saidSearches } = usage?.usage ?? {}
  const bySearch = isSoldBySearch(endpoint)
  const byTokens = isSoldByTokens(endpoint)
  const counted = (byTokens && saidTokens === undefined) || (bySearch && saidSearches === undefined)
  const tokens = byTokens ? boundTokens(saidTokens, usage?.implausible ?? false, input, model, counter) : null
  const searches = bySearch ? boundSearches(saidSearches, input, model, counter) : null
  return {
    report: inputUsage({ tokens: tokens?.units ?? null, searches: searches?.units ?? null }),
    flagged: usage?.implausible === true || tokens?.flagged === true || searches?.flagged === true,
    basis: counted ? 'counted' : 'provider_usage',
  }
}

interface Bounded {
  readonly units: number
  readonly flagged: boolean
}

function boundTokens(said: number | undefined, implausible: boolean, input: RerankInput, model: Model, counter: AttemptStart['tokens']): Bounded {
  const countInput = (): number => input.tokens(model, counter)
  if (said === undefined) return { units: countInput(), flagged: false }
  const { report, flagged } = boundUsage(inputUsage({ tokens: said, implausible }), { maxTokens: 0, countInput, countAtLeast: () => input.tokensAtLeast() })
  return { units: report.inputTokens, flagged }
}

function boundSearches(said: number | undefined, input: RerankInput, model: Model, counter: AttemptStart['tokens']): Bounded {
  if (said === undefined) return { units: input.searches(model, counter), flagged: false }
  // What one unit or none says needs no count to be believed.
  const most = said <= 1 ? 1 : searchUnitsMax(input.searches(model, counter))
  return { units: Math.min(said, most), flagged: said > most }
}
