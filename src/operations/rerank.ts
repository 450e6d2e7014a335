import type { Model } from '../catalog/catalog.ts'
import type { UsageReport } from '../kinds/chat/answer.ts'
import { inputUsage } from '../kinds/answer/input-usage.ts'
import type { RerankAnswer } from '../kinds/rerank/answer.ts'
import { rerankBody } from '../kinds/rerank/body.ts'
import type { RerankRequest } from '../kinds/rerank/request.ts'
import { itemTokensExceeded } from '../pay/plan/context-check.ts'
import type { PlanInput } from '../plan/plan.ts'
import { measureUsage } from '../pay/plan/usage-bounds.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import type { AttemptStart, MeasuredUsage, Operation } from '../pay/relay/operation.ts'
import { isSoldBySearch, isSoldByTokens, RerankInput } from './rerank-input.ts'
import { unitOperation } from './unit.ts'
import type { UnitKind } from '../pay/operations/unit-kind.ts'

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
    able: (_request, { provider }) => adapters.get(provider.adapter)?.rerank !== undefined,
    worstUsage: (_request, model, endpoint, tokens) => input.worst(model, endpoint, tokens),
    ask: (adapter, call, sink) => {
      if (adapter.rerank === undefined)
        throw new Error(`Adapter '${adapter.name}' has no rerank: the plan lets only those through that have.`)
      return adapter.rerank(call, sink)
    },
    isEmpty: ({ results }) => results.length === 0,
    upstreamId: ({ upstreamId }) => upstreamId,
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

/** Only the units that the endpoint is sold by: nobody would pay for tokens in the log of a search (wire.md D-6.1). */
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
