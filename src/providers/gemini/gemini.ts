import type { Adapter } from '../adapter.ts'
import type { JobHttp } from '../job-http.ts'
import { createNative, type NativeProtocol } from '../native.ts'
import { SseDecoder } from '../sse-decoder.ts'
import type { Transport } from '../transport.ts'
import { GEMINI_PARAMETERS } from './parameters.ts'
import { GeminiReader } from './reader.ts'
import { geminiRequest } from './request.ts'
import { hidesReasoning } from './thinking.ts'
import { veo } from './veo.ts'

/** Google's `generateContent`, of the Gemini API and of Vertex AI. */
export function createGemini(transport: Transport, jobs: JobHttp, now: () => number): Adapter {
  return { ...createNative(geminiProtocol(now), transport), videos: veo(jobs, now) }
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
