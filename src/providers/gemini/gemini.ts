import type { Adapter } from '../adapter.ts'
import { askEmbeddings } from '../embeddings-call.ts'
import { createNative, type NativeProtocol } from '../native.ts'
import { SseDecoder } from '../sse-decoder.ts'
import type { Transport } from '../transport.ts'
import { geminiEmbed } from './embed.ts'
import { GEMINI_PARAMETERS } from './parameters.ts'
import { GeminiReader } from './reader.ts'
import { geminiRequest } from './request.ts'
import { hidesReasoning } from './thinking.ts'

/** Google's `generateContent` and `embedContent`, of the Gemini API and of Vertex AI. */
export function createGemini(transport: Transport, now: () => number): Adapter {
  const embed = geminiEmbed(now)
  return {
    ...createNative(geminiProtocol(now), transport),
    unitParameters: { embeddings: ['dimensions', 'input_type'] },
    embeddings: (call, sink) => askEmbeddings(embed, transport, call, sink),
  }
}

export function geminiProtocol(now: () => number): NativeProtocol {
  return {
    name: 'gemini',
    supportedParameters: GEMINI_PARAMETERS,
    request: geminiRequest,
    reader: ({ generationId, request }) => new GeminiReader({ generationId, hidesReasoning: hidesReasoning(request.parameters) }, now),
    decoder: ({ message, error }) => new SseDecoder({ event: message, errorLine: error }),
  }
}
