import { needsTimestamps, type TranscriptionRequest } from '../../kinds/transcription/request.ts'
import type { SpeechFormat } from '../../kinds/speech.ts'
import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import { garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import { type UnitCall, pathPart, UnsendableError, type UpstreamRequest } from '../ports/call.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../upstream/models.ts'
import { askTranscript, lettered, readLengths, readWords, soundForm } from '../upstream/transcripts.ts'
import { type SpeechCall, type TranscriptionResult, askSpeech } from '../upstream/audio.ts'
import { LISTING_LIMITS, objectOf, parseJson, textOf } from '../wire/raw-json.ts'
import { headerOf, type UpstreamHeaders } from '../wire/transport.ts'

/** One of the provider's voices, for a model whose row declares none. */
const VOICE = 'JBFqnCBsd6RMkjVDRZzb'
const SPEED_MIN = 0.7
const SPEED_MAX = 1.2
const OUTPUTS: ReadonlyMap<SpeechFormat, string> = new Map([
  ['mp3', 'mp3_44100_128'],
  ['opus', 'opus_48000_64'],
  ['pcm', 'pcm_24000'],
])

/** ElevenLabs: `/text-to-speech` and `/speech-to-text`. */
export function createElevenlabs({ transport, jobs }: AdapterPorts): Adapter {
  return {
    name: 'elevenlabs',
    parameters: {
      ...NO_PARAMETERS,
      tts: ['voice', 'response_format', 'speed'],
      transcription: ['language', 'temperature', 'response_format', 'timestamp_granularities'],
    },
    speech: askSpeech(transport, {
      formats: () => [...OUTPUTS.keys()],
      request: speechRequest,
      reads: () => ({ idHeader: 'request-id' }),
    }),
    transcription: askTranscript(transport, {
      timestamps: () => true,
      speakers: () => true,
      request: transcriptRequest,
      reads: { answer: readTranscript },
    }),
    models: askModels(ELEVENLABS_MODELS, jobs),
  }
}

const ELEVENLABS_MODELS: ModelListProtocol = {
  request: (_provider, apiKey) => ({ path: '/models', headers: elevenlabsCredentials(apiKey) }),
  entries: entriesIn('models'),
  model: (entry) => listedModel(entry, textOf(entry['model_id'])),
}

function transcriptRequest(call: UnitCall<TranscriptionRequest>): UpstreamRequest {
  const { endpoint, apiKey, request } = call
  const { language, temperature, format } = request
  const isDiarized = format === 'diarized_json'
  const fields: [string, string][] = [
    ['model_id', endpoint.upstreamModel],
    ['tag_audio_events', 'false'],
    ['timestamps_granularity', isDiarized || needsTimestamps(format) ? 'word' : 'none'],
  ]
  if (isDiarized) fields.push(['diarize', 'true'])
  if (language !== null) fields.push(['language_code', language])
  if (temperature !== null) fields.push(['temperature', String(temperature)])
  const { body, contentType } = soundForm(fields, call)
  return { path: '/speech-to-text', body, headers: { ...elevenlabsCredentials(apiKey), 'content-type': contentType } }
}

function readTranscript(bytes: Buffer, headers: UpstreamHeaders): TranscriptionResult | AttemptFailure {
  const body = objectOf(parseJson(bytes, LISTING_LIMITS))
  const text = textOf(body?.['text'])
  if (body === null || text === null) return garbage('no transcript', bytes)
  const spoken = lettered(body['words'], 'speaker_id')
  const words = readWords(spoken, 'text', ({ type }) => type === undefined || type === 'word')
  return {
    transcript: { text, language: textOf(body['language_code']), segments: [], words },
    ...readLengths(body['audio_duration_secs']),
    usage: null,
    upstreamId: textOf(body['transcription_id']) ?? headerOf(headers, 'request-id') ?? null,
  }
}

function speechRequest({ endpoint, apiKey, request, voice, format }: SpeechCall): UpstreamRequest {
  const { speed } = request
  if (speed !== null && (speed < SPEED_MIN || speed > SPEED_MAX))
    throw new UnsendableError(`speed: this provider speaks at ${SPEED_MIN} to ${SPEED_MAX}`)
  const query = new URLSearchParams({ output_format: OUTPUTS.get(format) ?? '' })
  const body = {
    text: request.input,
    model_id: endpoint.upstreamModel,
    ...(speed === null ? {} : { voice_settings: { speed } }),
  }
  return {
    path: `/text-to-speech/${pathPart(voice ?? VOICE)}/stream?${query}`,
    body,
    headers: elevenlabsCredentials(apiKey),
  }
}

function elevenlabsCredentials(apiKey: string | null): Readonly<Record<string, string>> {
  return apiKey === null ? {} : { 'xi-api-key': apiKey }
}
