import type { RerankAnswer } from '../../kinds/rerank-answer.ts'
import type { ResultSink, RunningCall } from '../adapter.ts'
import { objectOf } from '../raw-json.ts'
import { readRanking, type RerankCall } from '../rerank-protocol.ts'
import type { SdkCallPorts } from './sdk-call.ts'
import { SdkUnitCall } from './sdk-unit-call.ts'

/** A ranking through a package. What it used stands in the provider's own answer alone. */
export function sdkRerank(ports: SdkCallPorts, call: RerankCall, sink: ResultSink<RerankAnswer>): RunningCall {
  return new SdkUnitCall<RerankAnswer>(ports, call, sink, async (settings) => {
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
