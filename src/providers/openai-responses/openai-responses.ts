import type { Adapter } from '../adapter.ts'
import { callNative, type NativeProtocol } from '../native.ts'
import { SseDecoder } from '../sse-decoder.ts'
import type { Transport } from '../transport.ts'
import { ResponsesReader } from './reader.ts'
import { responsesRequest } from './request.ts'

const decoder: NativeProtocol['decoder'] = ({ message, error }) => new SseDecoder({ event: message, errorLine: error })

/** OpenAI's Responses protocol, which others speak as well. */
export function openaiResponses(transport: Transport, now: () => number): NonNullable<Adapter['responses']> {
  return (call, sink) =>
    callNative(
      transport,
      {
        endpoint: call.endpoint,
        streaming: call.request.chat.stream,
        request: () => responsesRequest(call),
        reader: () => new ResponsesReader(call.generationId, now),
        decoder,
      },
      sink,
    )
}
