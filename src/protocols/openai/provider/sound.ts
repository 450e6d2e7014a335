import type { Endpoint } from '../../../catalog/catalog.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'
import { TraitTable } from '../../../catalog/trait-table.ts'
import type { UsageReport } from '../../../kinds/chat/answer.ts'
import { SPEECH_FORMATS } from '../../../kinds/speech.ts'
import {
  type Chunking,
  type KnownSpeakers,
  type TranscriptionRequest,
  needsTimestamps,
} from '../../../kinds/transcription/request.ts'
import { TokenReader } from '../../answers/token-reader.ts'
import { type AttemptFailure, billed, failure, garbage } from '../../ports/attempt-failure.ts'
import { type UnitCall, type UpstreamRequest, takes, takesOf } from '../../ports/call.ts'
import {
  type SpeechCall,
  type SpeechPiece,
  type SpeechProtocol,
  type TranscriptionProtocol,
  type TranscriptionResult,
  askSpeech,
} from '../../upstream/audio.ts'
import { askTranscript, readLengths, readSegments, readWords, soundForm } from '../../upstream/transcripts.ts'
import { errorIn, isErrorBody } from '../../wire/error-body.ts'
import { LISTING_LIMITS, type RawJson, listOf, objectOf, parseJson, textOf } from '../../wire/raw-json.ts'
import { type Transport, type UpstreamHeaders, headerOf } from '../../wire/transport.ts'
import { eventFailure } from '../../wire/upstream-error.ts'
import { openaiErrorBody, openaiUsage } from './usage.ts'

/** Abilities of a model by its name: services do not report them, and each refuses unknown parameters. */
interface Traits {
  /** Whether it accepts `response_format`, and with it `verbose_json`. */
  readonly verbose: boolean
  readonly format: boolean
  /** Whether it gives times, in `verbose_json` or through a parameter. */
  readonly times: boolean
  readonly translates: boolean
  /** Whether it tells who speaks. Such a model takes no prompt, and needs `chunking_strategy`. */
  readonly speakers?: true
  /** Whether it takes `chunking_strategy`. */
  readonly cuts?: true
  readonly logprobs?: true
}

const WHISPER: Traits = { verbose: true, format: true, times: true, translates: true }
const GPT: Traits = { verbose: false, format: true, times: false, translates: false, cuts: true }
const OPENAI = { source: 'https://platform.openai.com/docs/guides/speech-to-text', date: '2026-11-27' }
const MISTRAL = { source: 'https://docs.mistral.ai/capabilities/audio_transcription/', date: '2026-11-27' }
const GROQ = { source: 'https://console.groq.com/docs/speech-to-text', date: '2026-11-27' }

/** OpenAI's later models answer in JSON without times; Mistral's have no formats, and give times on request. */
export const TRANSCRIPTION_TRAITS = new TraitTable<Traits>([
  { of: 'gpt diarize', traits: { ...GPT, speakers: true }, ...OPENAI },
  { of: 'gpt 4o', traits: { ...GPT, logprobs: true }, ...OPENAI },
  { of: 'gpt', traits: GPT, ...OPENAI },
  { of: 'voxtral', traits: { verbose: false, format: false, times: true, translates: false }, ...MISTRAL },
  { of: 'turbo', traits: { ...WHISPER, translates: false }, ...GROQ },
  { of: 'distil', traits: { ...WHISPER, translates: false }, ...GROQ },
])
const COUNTS = ['input_tokens', 'output_tokens', 'prompt_tokens', 'completion_tokens']

function traitsOf(endpoint: Endpoint): Traits {
  const traits = TRANSCRIPTION_TRAITS.of(endpoint.upstreamModel) ?? WHISPER
  return takes(endpoint, 'timestamp_granularities') ? traits : { ...traits, times: false }
}

/** `/audio/transcriptions` and `/audio/translations` of OpenAI, Groq, Mistral and every dialect of them. */
export function openaiTranscription(transport: Transport): TranscriptionProtocol {
  return askTranscript(transport, {
    timestamps: (endpoint) => traitsOf(endpoint).times,
    speakers: (endpoint) => traitsOf(endpoint).speakers === true,
    carries: (endpoint, request) => fieldsOf(endpoint, request).map(([name]) => name.split('[')[0] ?? name),
    translates: (endpoint) => traitsOf(endpoint).translates,
    request: requestOf,
    reads: { answer: readTranscript, event: readEvent },
  })
}

function requestOf(call: UnitCall<TranscriptionRequest>): UpstreamRequest {
  const { endpoint, request, apiKey } = call
  const { dialect } = endpoint.provider
  const { body, contentType } = soundForm(fieldsOf(endpoint, request), call)
  return {
    path: `/audio/${request.task === 'translate' ? 'translations' : 'transcriptions'}${dialect.query}`,
    body,
    headers: { ...keyHeaders(dialect, apiKey), 'content-type': contentType },
  }
}

function fieldsOf(endpoint: Endpoint, request: TranscriptionRequest): readonly (readonly [string, string])[] {
  const traits = traitsOf(endpoint)
  const takes = takesOf(endpoint)
  const timed = needsTimestamps(request.format) && traits.times
  const fields: [string, string][] = [['model', endpoint.upstreamModel]]
  // The client pays for the length that this format reports.
  const diarized = request.format === 'diarized_json' && traits.speakers === true
  if (traits.format)
    fields.push(['response_format', diarized ? 'diarized_json' : traits.verbose ? 'verbose_json' : 'json'])
  // At Mistral, times and a language exclude each other.
  if (request.language !== null && request.task === 'transcribe' && takes('language') && (traits.verbose || !timed))
    fields.push(['language', request.language])
  if (request.prompt !== null && takes('prompt') && traits.format && traits.speakers !== true)
    fields.push(['prompt', request.prompt])
  if (request.temperature !== null && takes('temperature')) fields.push(['temperature', String(request.temperature)])
  if (timed && request.task === 'transcribe') fields.push(...granularities(request, traits))
  if (traits.cuts === true)
    fields.push(...chunkingFields(request.chunking ?? (traits.speakers === true ? 'auto' : null)))
  if (diarized) fields.push(...speakerFields(request.speakers))
  if (request.logprobs && traits.logprobs === true && request.format === 'json') fields.push(['include[]', 'logprobs'])
  return fields
}

function chunkingFields(chunking: Chunking | null): readonly [string, string][] {
  if (chunking === null) return []
  if (chunking === 'auto') return [['chunking_strategy', chunking]]
  return Object.entries(chunking).map(([name, value]) => [`chunking_strategy[${name}]`, String(value)])
}

function speakerFields({ names, references }: KnownSpeakers): readonly [string, string][] {
  return [
    ...names.map((name): [string, string] => ['known_speaker_names[]', name]),
    ...references.map((clip): [string, string] => ['known_speaker_references[]', clip]),
  ]
}

function granularities(
  { format, granularities: asked }: TranscriptionRequest,
  { verbose }: Traits,
): readonly [string, string][] {
  const wanted = format === 'verbose_json' ? asked : (['segment'] as const)
  if (!verbose) return [['timestamp_granularities', wanted.includes('word') ? 'word' : 'segment']]
  return wanted.map((name) => ['timestamp_granularities[]', name])
}

function readTranscript(bytes: Buffer, headers: UpstreamHeaders): TranscriptionResult | AttemptFailure {
  const read = transcriptIn(parseJson(bytes, LISTING_LIMITS), headers)
  if (read !== null) return read
  // A service without formats may answer with bare text.
  if (/^text\/plain/i.test(headerOf(headers, 'content-type') ?? ''))
    return resultOf({}, bytes.toString('utf8'), idOf(headers))
  return garbage('no transcript', bytes)
}

/** Some services always stream; the last event has the whole text. */
function readEvent(data: Buffer, headers: UpstreamHeaders): TranscriptionResult | AttemptFailure | null {
  const event = parseJson(data)
  return isErrorBody(event) || objectOf(event)?.['type'] === 'transcript.text.done'
    ? transcriptIn(event, headers)
    : null
}

/** null = it is neither a transcript nor an error. */
function transcriptIn(body: unknown, headers: UpstreamHeaders): TranscriptionResult | AttemptFailure | null {
  if (isErrorBody(body)) return openaiErrorBody(body)
  const answer = objectOf(body)
  const text = textOf(answer?.['text'])
  return answer === null || text === null ? null : resultOf(answer, text, idOf(headers))
}

function idOf(headers: UpstreamHeaders): string | null {
  return headerOf(headers, 'x-request-id') ?? null
}

function resultOf(answer: RawJson, text: string, upstreamId: string | null): TranscriptionResult {
  const usage = objectOf(answer['usage'])
  return {
    transcript: {
      text,
      language: textOf(answer['language']),
      segments: readSegments(answer['segments']),
      words: readWords(answer['words'], 'word'),
      ...(Array.isArray(answer['logprobs']) ? { logprobs: listOf(answer['logprobs']).map(logprobOf) } : {}),
    },
    ...readLengths(answer['duration'], usage?.['seconds'], usage?.['prompt_audio_seconds']),
    usage: transcriptUsage(usage),
    upstreamId,
  }
}

function logprobOf(raw: unknown): Readonly<Record<string, unknown>> {
  const { token, bytes, logprob } = objectOf(raw) ?? {}
  return { token, bytes, logprob }
}

/**
 * The usage. Audio tokens are dearer than those of a prompt, so if they are not counted separately, all tokens count as
 * audio.
 */
function transcriptUsage(usage: RawJson | null): UsageReport | null {
  if (usage === null || COUNTS.every((name) => (usage[name] ?? null) === null)) return null
  const tokens = new TokenReader()
  const input = tokens.count('input', usage, 'input_tokens', 'prompt_tokens')
  const output = tokens.count('output', usage, 'output_tokens', 'completion_tokens')
  const details =
    objectOf(usage['input_token_details']) ??
    objectOf(usage['input_tokens_details']) ??
    objectOf(usage['prompt_tokens_details'])
  const text = Math.min(input, tokens.part(details, 'text_tokens'))
  return tokens.report({
    usage: { input: text, audio_input: input - text, output },
    inputTokens: input,
    outputTokens: output,
  })
}

const VOICE = 'alloy'
const PAGE = { source: 'https://platform.openai.com/docs/api-reference/audio/createSpeech', date: '2026-11-27' }
/** Whether a model streams events, and so reports its usage. */
export const SPEECH_TRAITS = new TraitTable<boolean>([
  { of: 'gpt tts', traits: true, ...PAGE },
  { of: 'tts', from: '1', traits: false, ...PAGE },
  { of: 'tts', from: '2', traits: true, ...PAGE },
])
const NOTHING: SpeechPiece = { audio: null, usage: null, done: false }

/** `/audio/speech` of OpenAI and every dialect of it. */
export function openaiSpeech(transport: Transport): SpeechProtocol {
  return askSpeech(transport, {
    formats: () => SPEECH_FORMATS,
    request: speechRequest,
    reads: (call) => ({
      idHeader: 'x-request-id',
      ...(inEvents(call) ? { piece: readPiece } : {}),
      ended: () => failure('cut', null, 'the speech ended without its last event'),
    }),
  })
}

/** Whether events are requested: only in them does the provider report the tokens that the client pays for. */
function inEvents(call: SpeechCall): boolean {
  return (
    call.wantsUsage && takes(call.endpoint, 'stream_format') && SPEECH_TRAITS.of(call.endpoint.upstreamModel) !== false
  )
}

function speechRequest(call: SpeechCall): UpstreamRequest {
  const { endpoint, request, format, voice } = call
  const body = {
    model: endpoint.upstreamModel,
    input: request.input,
    voice: voice ?? VOICE,
    response_format: format,
    ...(request.speed === null || !takes(endpoint, 'speed') ? {} : { speed: request.speed }),
    ...(request.instructions === null || !takes(endpoint, 'instructions')
      ? {}
      : { instructions: request.instructions }),
    ...(inEvents(call) ? { stream_format: 'sse' } : {}),
  }
  return {
    path: `/audio/speech${endpoint.provider.dialect.query}`,
    body,
    headers: keyHeaders(call.endpoint.provider.dialect, call.apiKey),
  }
}

function readPiece(data: Buffer): SpeechPiece | AttemptFailure {
  const event = objectOf(parseJson(data))
  if (event === null) return data.toString('latin1') === '[DONE]' ? NOTHING : garbage('no event of speech', data)
  if (isErrorBody(event)) {
    const usage = spoken(openaiUsage(event['usage']))
    return billed(eventFailure(errorIn(event)), usage)
  }
  if (event['type'] === 'speech.audio.delta')
    return { ...NOTHING, audio: Buffer.from(textOf(event['audio']) ?? '', 'base64') }
  if (event['type'] === 'speech.audio.done')
    return { audio: null, usage: spoken(openaiUsage(event['usage'])), done: true }
  return NOTHING
}

/** The usage with all output as audio, whatever name the provider counts it under. */
export function spoken(report: UsageReport | null): UsageReport | null {
  if (report === null) return null
  const { output = 0, reasoning = 0, audio_output: sound = 0, ...input } = report.usage
  return { ...report, usage: { ...input, audio_output: output + reasoning + sound }, reasoningTokens: 0 }
}
