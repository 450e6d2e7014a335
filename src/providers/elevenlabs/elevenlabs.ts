import type { Adapter } from '../adapter.ts'
import type { Transport } from '../transport.ts'
import { elevenlabsSpeech } from './text-to-speech.ts'
import { elevenlabsTranscription } from './speech-to-text.ts'

/** ElevenLabs: `/text-to-speech` and `/speech-to-text`. */
export function createElevenlabs(transport: Transport, now: () => number): Adapter {
  return {
    name: 'elevenlabs',
    supportedParameters: [],
    unitParameters: {
      tts: ['voice', 'response_format', 'speed'],
      transcription: ['language', 'temperature', 'response_format', 'timestamp_granularities'],
    },
    speech: elevenlabsSpeech(transport, now),
    transcription: elevenlabsTranscription(transport, now),
  }
}
