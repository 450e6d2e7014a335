import type { Adapter } from '../adapter.ts'
import { askEmbeddings } from '../embeddings-call.ts'
import { callNative, createNative, type NativeProtocol } from '../native.ts'
import { NdjsonDecoder } from '../ndjson-decoder.ts'
import { reasoningWish } from '../reasoning-wish.ts'
import type { Transport } from '../transport.ts'
import { ollamaEmbed } from './embed.ts'
import { OLLAMA_PARAMETERS } from './parameters.ts'
import { OllamaReader } from './reader.ts'
import { generateRequest, ollamaRequest } from './request.ts'

/** Ollama's own chat and embed, and its `/api/generate` for completions. */
export function createOllama(transport: Transport, now: () => number): Adapter {
  const protocol = ollamaProtocol(now)
  const embed = ollamaEmbed(now)
  return {
    ...createNative(protocol, transport),
    completions: {
      takesList: false,
      ask: (call, sink) => {
        const reader = (): OllamaReader => new OllamaReader({ generationId: '', hidesReasoning: true }, now)
        return callNative(
          transport,
          {
            endpoint: call.endpoint,
            streaming: call.request.chat.stream,
            request: () => generateRequest(call),
            reader,
            decoder: protocol.decoder,
          },
          sink,
        )
      },
    },
    unitParameters: { embeddings: ['dimensions'] },
    embeddings: (call, sink) => askEmbeddings(embed, transport, call, sink),
  }
}

export function ollamaProtocol(now: () => number): NativeProtocol {
  return {
    name: 'ollama',
    supportedParameters: OLLAMA_PARAMETERS,
    request: ollamaRequest,
    reader: ({ generationId, request }) =>
      new OllamaReader({ generationId, hidesReasoning: reasoningWish(request.parameters).isHidden }, now),
    decoder: ({ message }) => new NdjsonDecoder(message),
  }
}
