import type { Transcript, TranscriptSegment, TranscriptWord } from '../../kinds/transcription/transcript.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import type { SpeechFormat } from '../../kinds/speech.ts'
import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import { garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import { type UnitCall, UnsendableError, type UpstreamRequest } from '../ports/call.ts'
import { askTranscript, lettered, readLengths, readSegments, readWords } from '../upstream/transcripts.ts'
import { type SpeechCall, type TranscriptionResult, askSpeech } from '../upstream/audio.ts'
import { LISTING_LIMITS, listOf, objectOf, parseJson, textOf, type RawJson } from '../wire/raw-json.ts'

/** The provider refuses texts with more characters. */
const CHARACTERS_MAX = 2_000
const ENCODINGS: Readonly<Record<SpeechFormat, Readonly<Record<string, string>>>> = {
  mp3: { encoding: 'mp3' },
  opus: { encoding: 'opus', container: 'ogg' },
  aac: { encoding: 'aac' },
  flac: { encoding: 'flac', sample_rate: '24000' },
  wav: { encoding: 'linear16', container: 'wav', sample_rate: '24000' },
  pcm: { encoding: 'linear16', container: 'none', sample_rate: '24000' },
}
const FORMATS: readonly SpeechFormat[] = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']
/** The name of a family of voices, without a voice. */
const FAMILY = /^aura(-\d+)?$/

/** Speech in several languages has a higher rate than speech in one. */
const SEVERAL_LANGUAGES = 'multi'

/** Deepgram: `/listen` and `/speak`. */
export function createDeepgram({ transport }: AdapterPorts): Adapter {
  return {
    name: 'deepgram',
    parameters: {
      ...NO_PARAMETERS,
      tts: ['voice', 'response_format'],
      transcription: ['language', 'response_format', 'timestamp_granularities'],
    },
    speech: askSpeech(transport, {
      formats: () => FORMATS,
      request: speakRequest,
      reads: () => ({ idHeader: 'dg-request-id' }),
    }),
    transcription: askTranscript(transport, {
      timestamps: () => true,
      // Telling speakers apart has a higher rate, so a row must say that its price covers it.
      speakers: ({ supportedParameters }) => supportedParameters?.includes('diarize') === true,
      prices: (language) => !language.trim().toLowerCase().startsWith(SEVERAL_LANGUAGES),
      request: listenRequest,
      reads: { answer: readAnswer },
    }),
  }
}

/** The body is the sound itself; all other parameters are in the URL. */
function listenRequest({ endpoint, apiKey, request }: UnitCall<TranscriptionRequest>): UpstreamRequest {
  const query = new URLSearchParams({ model: endpoint.upstreamModel, smart_format: 'true', utterances: 'true' })
  if (request.language === null) query.set('detect_language', 'true')
  else query.set('language', request.language)
  if (request.format === 'diarized_json') query.set('diarize', 'true')
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
  const words = lettered(best['words'], 'speaker')
  const written = readWords(words, 'punctuated_word')
  return written.length > 0 ? written : readWords(words, 'word')
}

function segmentsOf(results: RawJson | null): readonly TranscriptSegment[] {
  return readSegments(
    lettered(results?.['utterances'], 'speaker').map(({ start, end, transcript, speaker }) => ({
      start,
      end,
      text: transcript,
      speaker,
    })),
  )
}

function speakRequest(call: SpeechCall): UpstreamRequest {
  if (call.request.characters > CHARACTERS_MAX)
    throw new UnsendableError(`input: this provider takes at most ${CHARACTERS_MAX} characters`)
  const query = new URLSearchParams({ model: modelOf(call), ...ENCODINGS[call.format] })
  return {
    path: `/speak?${query}`,
    body: { text: call.request.input },
    headers: deepgramCredentials(call.apiKey),
  }
}

/** The voice is part of the model's name here: `aura-2` and `thalia` become `aura-2-thalia-en`. */
function modelOf({ endpoint: { upstreamModel }, voice }: SpeechCall): string {
  if (voice === null) return upstreamModel
  if (voice.startsWith('aura-')) return voice
  return FAMILY.test(upstreamModel) ? `${upstreamModel}-${voice.includes('-') ? voice : `${voice}-en`}` : upstreamModel
}

function deepgramCredentials(apiKey: string | null): Readonly<Record<string, string>> {
  return apiKey === null ? {} : { authorization: `Token ${apiKey}` }
}
