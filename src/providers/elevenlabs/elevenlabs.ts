import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import { elevenlabsSpeech } from './text-to-speech.ts'
import { elevenlabsTranscription } from './speech-to-text.ts'

/** ElevenLabs: `/text-to-speech` and `/speech-to-text`. */
export function createElevenlabs({ transport, now }: AdapterPorts): Adapter {
  return {
    name: 'elevenlabs',
    parameters: {
      ...NO_PARAMETERS,
      tts: ['voice', 'response_format', 'speed'],
      transcription: ['language', 'temperature', 'response_format', 'timestamp_granularities'],
    },
    speech: elevenlabsSpeech(transport, now),
    transcription: elevenlabsTranscription(transport, now),
  }
}
