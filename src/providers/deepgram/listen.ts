import type { Transcript, TranscriptSegment, TranscriptWord } from '../../kinds/transcript.ts'
import type { TranscriptionRequest } from '../../kinds/transcription-request.ts'
import type { AttemptFailure, UnitCall } from '../adapter.ts'
import { askAudio, type AudioRequest } from '../audio-call.ts'
import type { TranscriptionProtocol, TranscriptionResult } from '../audio-protocol.ts'
import { LISTING_LIMITS, listOf, objectOf, parseJson, textOf, type RawJson } from '../raw-json.ts'
import { readSegments, readWords, secondsIn } from '../transcript-fields.ts'
import { failure, type Transport, type UpstreamHeaders } from '../transport.ts'
import { deepgramCredentials, deepgramError } from './error.ts'

/** The sound itself goes as the body, everything else in the address. */
export function deepgramListen(transport: Transport, now: () => number): TranscriptionProtocol {
  const error = (status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure =>
    deepgramError(status, body, headers, now())
  return {
    timestamps: () => true,
    translates: () => false,
    ask: (call, sink) => askAudio(transport, call, requestOf(call), { answer: readAnswer, error }, sink),
  }
}

function requestOf({ endpoint, apiKey, request }: UnitCall<TranscriptionRequest>): AudioRequest {
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
  if (best === null || text === null)
    return failure('garbage', null, `no transcript: ${bytes.subarray(0, 200).toString('utf8')}`)
  const transcript: Transcript = {
    text,
    language: textOf(channel?.['detected_language']),
    segments: segmentsOf(results),
    words: wordsOf(best),
  }
  return {
    transcript,
    seconds: secondsIn(metadata?.['duration']),
    billedSeconds: null,
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
