import { hidesReasoning } from '../anthropic/thinking.ts'
import type { Adapter } from '../adapter.ts'
import { askEmbeddings } from '../embeddings-call.ts'
import { createNative, type NativeProtocol } from '../native.ts'
import { askRerank } from '../rerank-call.ts'
import type { Transport } from '../transport.ts'
import { bedrockEmbed } from './embed.ts'
import { EventStreamDecoder } from './event-stream-decoder.ts'
import { BEDROCK_PARAMETERS } from './parameters.ts'
import { BedrockReader } from './reader.ts'
import { askedFormat, bedrockRequest } from './request.ts'
import { bedrockRerank } from './rerank.ts'

/**
 * Amazon Bedrock's Converse, one protocol for every maker's chat models there, and InvokeModel for the others. The base
 * address is the bare host.
 */
export function createBedrock(transport: Transport, now: () => number): Adapter {
  const embed = bedrockEmbed(now)
  const rerank = bedrockRerank(now)
  return {
    ...createNative(bedrockProtocol(now), transport),
    unitParameters: { embeddings: ['dimensions', 'input_type'], rerank: ['top_n'] },
    embeddings: (call, sink) => askEmbeddings(embed, transport, call, sink),
    rerank: (call, sink) => askRerank(rerank, transport, call, sink),
  }
}

export function bedrockProtocol(now: () => number): NativeProtocol {
  return {
    name: 'bedrock',
    supportedParameters: BEDROCK_PARAMETERS,
    request: (call) => bedrockRequest(call, now()),
    reader: (call) => {
      const format = askedFormat(call)
      const answerTool = format.kind === 'tool' ? format.name : null
      return new BedrockReader(
        { generationId: call.generationId, answerTool, hidesReasoning: hidesReasoning(call.request.parameters) },
        now,
      )
    },
    decoder: (events) => new EventStreamDecoder(events),
  }
}
