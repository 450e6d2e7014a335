import type { Transcript, TranscriptSegment, TranscriptWord } from '../../kinds/transcription/transcript.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import { garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { UnitCall } from '../ports/call.ts'
import { askTranscript } from '../upstream/ask.ts'
import type { UpstreamRequest } from '../ports/upstream-request.ts'
import type { TranscriptionProtocol, TranscriptionResult } from '../ports/audio-protocol.ts'
import { LISTING_LIMITS, listOf, objectOf, parseJson, textOf, type RawJson } from '../wire/raw-json.ts'
import { readLengths, readSegments, readWords } from '../answers/transcript-fields.ts'
import type { Transport, UpstreamHeaders } from '../wire/transport.ts'
import { deepgramCredentials, deepgramError } from './error.ts'

/** Speech in several languages is billed at a higher rate than speech in one. */
const SEVERAL_LANGUAGES = 'multi'

/** The body is the sound itself; all other parameters are in the address. */
export function deepgramListen(transport: Transport, now: () => number): TranscriptionProtocol {
  const error = (status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure =>
    deepgramError(status, body, headers, now())
  return {
    timestamps: () => true,
    translates: () => false,
    prices: (language) => !language.trim().toLowerCase().startsWith(SEVERAL_LANGUAGES),
    ask: (call, sink) =>
      askTranscript(transport, call, { request: () => requestOf(call), answer: readAnswer, error }, sink),
  }
}

function requestOf({ endpoint, apiKey, request }: UnitCall<TranscriptionRequest>): UpstreamRequest {
  const query = new URLSearchParams({ model: endpoint.upstreamModel, smart_format: 'true', utterances: 'true' })
  if (request.language === null) query.set('detect_language', 'true')
  else query.set('language', request.language)
  return {
    path: `/listen?${query}`,
    body: request.audio.bytes,
    headers: { ...deepgramCredentials(apiKey), 'content-type': request.audio.contentType },
  }
}

function readAnswer(bytes: Buffer): TranscriptionResult | AttemptFailure {
  const body = objectOf(parseJson(bytes, LISTING_LIMITS))
  const metadata = objectOf(body?.['metadata'])
  const results = objectOf(body?.['results'])
  const channel = objectOf(listOf(results?.['channels'])[0])
  const best = objectOf(listOf(channel?.['alternatives'])[0])
  const text = textOf(best?.['transcript'])
  if (best === null || text === null) return garbage('no transcript', bytes)
  const transcript: Transcript = {
    text,
    language: textOf(channel?.['detected_language']),
    segments: segmentsOf(results),
    words: wordsOf(best),
  }
  return {
    transcript,
    ...readLengths(metadata?.['duration']),
    usage: null,
    upstreamId: textOf(metadata?.['request_id']),
  }
}

function wordsOf(best: RawJson): readonly TranscriptWord[] {
  const written = readWords(best['words'], 'punctuated_word')
  return written.length > 0 ? written : readWords(best['words'], 'word')
}

function segmentsOf(results: RawJson | null): readonly TranscriptSegment[] {
  return readSegments(
    listOf(results?.['utterances']).map((raw) => {
      const { start, end, transcript } = objectOf(raw) ?? {}
      return { start, end, text: transcript }
    }),
  )
}
