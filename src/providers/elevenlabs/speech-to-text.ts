import { needsTimestamps, type TranscriptionRequest } from '../../kinds/transcription/request.ts'
import { garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { UnitCall } from '../ports/call.ts'
import { askTranscript } from '../upstream/ask.ts'
import type { UpstreamRequest } from '../ports/upstream-request.ts'
import type { TranscriptionProtocol, TranscriptionResult } from '../ports/audio-protocol.ts'
import { formBody, formBoundary } from '../wire/form-body.ts'
import { LISTING_LIMITS, objectOf, parseJson, textOf } from '../wire/raw-json.ts'
import { readLengths, readWords } from '../answers/transcript-fields.ts'
import { headerOf, type Transport, type UpstreamHeaders } from '../wire/transport.ts'
import { elevenlabsCredentials, elevenlabsError } from './error.ts'

export function elevenlabsTranscription(transport: Transport, now: () => number): TranscriptionProtocol {
  const error = (status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure =>
    elevenlabsError(status, body, headers, now())
  return {
    timestamps: () => true,
    translates: () => false,
    ask: (call, sink) =>
      askTranscript(transport, call, { request: () => requestOf(call), answer: readAnswer, error }, sink),
  }
}

function requestOf({ endpoint, apiKey, request, generationId }: UnitCall<TranscriptionRequest>): UpstreamRequest {
  const { audio, language, temperature, format } = request
  const fields: [string, string][] = [
    ['model_id', endpoint.upstreamModel],
    ['tag_audio_events', 'false'],
    ['timestamps_granularity', needsTimestamps(format) ? 'word' : 'none'],
  ]
  if (language !== null) fields.push(['language_code', language])
  if (temperature !== null) fields.push(['temperature', String(temperature)])
  const { body, contentType } = formBody(
    fields,
    { fileName: `audio.${audio.format}`, contentType: audio.contentType, bytes: audio.bytes },
    formBoundary(generationId),
  )
  return { path: '/speech-to-text', body, headers: { ...elevenlabsCredentials(apiKey), 'content-type': contentType } }
}

function readAnswer(bytes: Buffer, headers: UpstreamHeaders): TranscriptionResult | AttemptFailure {
  const body = objectOf(parseJson(bytes, LISTING_LIMITS))
  const text = textOf(body?.['text'])
  if (body === null || text === null) return garbage('no transcript', bytes)
  const words = readWords(body['words'], 'text', ({ type }) => type === undefined || type === 'word')
  return {
    transcript: { text, language: textOf(body['language_code']), segments: [], words },
    ...readLengths(body['audio_duration_secs']),
    usage: null,
    upstreamId: textOf(body['transcription_id']) ?? headerOf(headers, 'request-id') ?? null,
  }
}
