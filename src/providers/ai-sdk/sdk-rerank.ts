import type { RerankAnswer } from '../../kinds/rerank/answer.ts'
import type { ResultSink, RunningCall } from '../ports/call.ts'
import { objectOf } from '../wire/raw-json.ts'
import { readRanking, type RerankCall } from '../ports/rerank-protocol.ts'
import { sdkResult, type SdkPorts } from './sdk-run.ts'

/** A ranking through a package. Its usage is only in the provider's own answer. */
export function sdkRerank(ports: SdkPorts, call: RerankCall, sink: ResultSink<RerankAnswer>): RunningCall {
  return sdkResult<RerankAnswer>(ports, call, sink, async (settings) => {
    const { endpoint, request } = call
    const model = await ports.packages.rerankingModel(endpoint.provider, endpoint.upstreamModel, settings)
    const documents = { type: 'text' as const, values: [...request.documents] }
    const { ranking, response } = await model.doRerank({
      query: request.query,
      documents,
      ...(request.topN === null ? {} : { topN: request.topN }),
    })
    const said = objectOf(response?.body)
    return readRanking({ results: ranking, usage: said?.['usage'], meta: said?.['meta'], id: response?.id }, call)
  })
}
