import type { Adapter } from '../adapter.ts'
import { askEmbeddings } from '../embeddings-call.ts'
import { createNative, type NativeProtocol } from '../native.ts'
import { NdjsonDecoder } from '../ndjson-decoder.ts'
import { reasoningWish } from '../reasoning-wish.ts'
import type { Transport } from '../transport.ts'
import { ollamaEmbed } from './embed.ts'
import { OLLAMA_PARAMETERS } from './parameters.ts'
import { OllamaReader } from './reader.ts'
import { ollamaRequest } from './request.ts'

/**
 * Ollama's own chat and embed. `/api/generate` is not asked, because it takes a prompt where a conversation is given and no tools;
 * its answers are read all the same.
 */
export function createOllama(transport: Transport, now: () => number): Adapter {
  const embed = ollamaEmbed(now)
  return {
    ...createNative(ollamaProtocol(now), transport),
    unitParameters: { embeddings: ['dimensions'] },
    embeddings: (call, sink) => askEmbeddings(embed, transport, call, sink),
  }
}

export function ollamaProtocol(now: () => number): NativeProtocol {
  return {
    name: 'ollama',
    supportedParameters: OLLAMA_PARAMETERS,
    request: ollamaRequest,
    reader: ({ generationId, request }) => new OllamaReader({ generationId, hidesReasoning: reasoningWish(request.parameters).isHidden }, now),
    decoder: ({ message }) => new NdjsonDecoder(message),
  }
}
