import type { Adapter } from '../adapter.ts'
import type { Transport } from '../transport.ts'
import { elevenlabsSpeech } from './text-to-speech.ts'
import { elevenlabsTranscription } from './speech-to-text.ts'

/** ElevenLabs: `/text-to-speech` and `/speech-to-text`. */
export function createElevenlabs(transport: Transport, now: () => number): Adapter {
  return { name: 'elevenlabs', supportedParameters: [], speech: elevenlabsSpeech(transport, now), transcription: elevenlabsTranscription(transport, now) }
}
