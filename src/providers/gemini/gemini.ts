import type { Adapter } from '../adapter.ts'
import type { FileFetch } from '../file-fetch.ts'
import { createNative, type NativeProtocol } from '../native.ts'
import { SseDecoder } from '../sse-decoder.ts'
import type { Transport } from '../transport.ts'
import { geminiImages, GEMINI_IMAGE_PARAMETERS } from './images.ts'
import { GEMINI_PARAMETERS } from './parameters.ts'
import { GeminiReader } from './reader.ts'
import { geminiRequest } from './request.ts'
import { hidesReasoning } from './thinking.ts'

/** Google's `generateContent`, of the Gemini API and of Vertex AI. */
export function createGemini(transport: Transport, now: () => number, files: FileFetch): Adapter {
  const native = createNative(geminiProtocol(now), transport)
  return { ...native, unitParameters: { image: GEMINI_IMAGE_PARAMETERS }, images: geminiImages({ transport, files, now, chat: native.chat }) }
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
