import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import { deepgramListen } from './listen.ts'
import { deepgramSpeak } from './speak.ts'

/** Deepgram: `/listen` and `/speak`. */
export function createDeepgram({ transport, now }: AdapterPorts): Adapter {
  return {
    name: 'deepgram',
    parameters: {
      ...NO_PARAMETERS,
      tts: ['voice', 'response_format'],
      transcription: ['language', 'response_format', 'timestamp_granularities'],
    },
    speech: deepgramSpeak(transport, now),
    transcription: deepgramListen(transport, now),
  }
}
