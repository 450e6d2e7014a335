import { hidesReasoning } from '../anthropic/thinking.ts'
import type { Adapter } from '../adapter.ts'
import { createNative, type NativeProtocol } from '../native.ts'
import type { Transport } from '../transport.ts'
import { EventStreamDecoder } from './event-stream-decoder.ts'
import { BEDROCK_PARAMETERS } from './parameters.ts'
import { BedrockReader } from './reader.ts'
import { askedFormat, bedrockRequest } from './request.ts'

/** Amazon Bedrock's Converse, one protocol for every maker's models there. The base address is the bare host. */
export function createBedrock(transport: Transport, now: () => number): Adapter {
  return createNative(bedrockProtocol(now), transport)
}

export function bedrockProtocol(now: () => number): NativeProtocol {
  return {
    name: 'bedrock',
    supportedParameters: BEDROCK_PARAMETERS,
    request: (call) => bedrockRequest(call, now()),
    reader: (call) => {
      const format = askedFormat(call)
      const answerTool = format.kind === 'tool' ? format.name : null
      return new BedrockReader({ generationId: call.generationId, answerTool, hidesReasoning: hidesReasoning(call.request.parameters) }, now)
    },
    decoder: (events) => new EventStreamDecoder(events),
  }
}
