import type { Adapter } from '../adapter.ts'
import { askEmbeddings } from '../embeddings-call.ts'
import { createNative, type NativeProtocol } from '../native.ts'
import { reasoningWish } from '../reasoning-wish.ts'
import { askRerank } from '../rerank-call.ts'
import type { Transport } from '../transport.ts'
import { CohereDecoder } from './decoder.ts'
import { cohereEmbed } from './embed.ts'
import { COHERE_PARAMETERS } from './parameters.ts'
import { CohereReader } from './reader.ts'
import { cohereRequest } from './request.ts'
import { cohereRerank } from './rerank.ts'

/**
 * Cohere's v2 chat, embed and rerank. Requests of the first chat protocol are not written, because every model that
 * still runs answers the newer one; its answers are read all the same.
 */
export function createCohere(transport: Transport, now: () => number): Adapter {
  const embed = cohereEmbed(now)
  const rerank = cohereRerank(now)
  return {
    ...createNative(cohereProtocol(now), transport),
    unitParameters: { embeddings: ['dimensions', 'input_type'], rerank: ['top_n'] },
    embeddings: (call, sink) => askEmbeddings(embed, transport, call, sink),
    rerank: (call, sink) => askRerank(rerank, transport, call, sink),
  }
}

export function cohereProtocol(now: () => number): NativeProtocol {
  return {
    name: 'cohere',
    supportedParameters: COHERE_PARAMETERS,
    request: cohereRequest,
    reader: ({ generationId, request }) =>
      new CohereReader({ generationId, hidesReasoning: reasoningWish(request.parameters).isHidden }, now),
    decoder: (events) => new CohereDecoder(events),
  }
}
