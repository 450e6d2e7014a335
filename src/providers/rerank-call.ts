import type { RerankAnswer } from '../kinds/rerank-answer.ts'
import type { ResultSink, RunningCall } from './adapter.ts'
import { LISTING_LIMITS, parseJson } from './raw-json.ts'
import type { RerankCall, RerankProtocol } from './rerank-protocol.ts'
import { failure, type Transport } from './transport.ts'
import { askWhole } from './whole-call.ts'

/** Asks a provider for a ranking. */
export function askRerank(
  protocol: RerankProtocol,
  transport: Transport,
  call: RerankCall,
  sink: ResultSink<RerankAnswer>,
): RunningCall {
  return askWhole<RerankAnswer>(
    transport,
    call,
    {
      request: () => protocol.request(call),
      answer: (bytes) => {
        const body = parseJson(bytes, LISTING_LIMITS)
        return body === undefined
          ? failure('garbage', null, `not JSON: ${bytes.subarray(0, 200).toString('utf8')}`)
          : protocol.answer(body, call)
      },
      error: (status, body, headers) => protocol.error(status, body, headers),
    },
    sink,
  )
}
