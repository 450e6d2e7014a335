import type { Adapter } from '../adapter.ts'
import type { Transport } from '../transport.ts'
import { deepgramListen } from './listen.ts'
import { deepgramSpeak } from './speak.ts'

/** Deepgram: `/listen` and `/speak`. */
export function createDeepgram(transport: Transport, now: () => number): Adapter {
  return {
    name: 'deepgram',
    supportedParameters: [],
    unitParameters: {
      tts: ['voice', 'response_format'],
      transcription: ['language', 'response_format', 'timestamp_granularities'],
    },
    speech: deepgramSpeak(transport, now),
    transcription: deepgramListen(transport, now),
  }
}
