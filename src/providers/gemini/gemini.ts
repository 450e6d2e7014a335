import type { Adapter } from '../adapter.ts'
import { askEmbeddings } from '../embeddings-call.ts'
import type { FileFetch } from '../file-fetch.ts'
import { createNative, type NativeProtocol } from '../native.ts'
import { LISTING_LIMITS } from '../raw-json.ts'
import { SseDecoder } from '../sse-decoder.ts'
import type { Transport } from '../transport.ts'
import { geminiEmbed } from './embed.ts'
import { geminiImages, GEMINI_IMAGE_PARAMETERS } from './images.ts'
import { GEMINI_PARAMETERS } from './parameters.ts'
import { GeminiReader } from './reader.ts'
import { geminiRequest } from './request.ts'
import { geminiSpeech } from './speech.ts'
import { hidesReasoning } from './thinking.ts'
import { geminiTranscription } from './transcription.ts'

/** Google's `generateContent`, `embedContent` and `predict`, of the Gemini API and of Vertex AI. */
export function createGemini(transport: Transport, now: () => number, files: FileFetch): Adapter {
  const native = createNative(geminiProtocol(now), transport)
  const embed = geminiEmbed(now)
  return {
    ...native,
    unitParameters: {
      embeddings: ['dimensions', 'input_type'],
      image: GEMINI_IMAGE_PARAMETERS,
      tts: ['voice', 'response_format', 'instructions'],
      transcription: ['language', 'prompt', 'temperature', 'response_format'],
    },
    embeddings: (call, sink) => askEmbeddings(embed, transport, call, sink),
    images: geminiImages({ transport, files, now, chat: native.chat }),
    speech: geminiSpeech(transport, now),
    transcription: geminiTranscription(transport, now),
  }
}

export function geminiProtocol(now: () => number): NativeProtocol {
  return {
    name: 'gemini',
    supportedParameters: GEMINI_PARAMETERS,
    request: geminiRequest,
    reader: ({ generationId, request }) =>
      new GeminiReader({ generationId, hidesReasoning: hidesReasoning(request.parameters) }, now),
    limits: { ...LISTING_LIMITS, containers: 400_000 },
    decoder: ({ message, error }) => new SseDecoder({ event: message, errorLine: error }),
  }
}
