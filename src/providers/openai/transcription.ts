import type { Endpoint } from '../../catalog/catalog.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { needsTimestamps, type TranscriptionRequest } from '../../kinds/transcription/request.ts'
import { garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { UnitCall } from '../../protocols/ports/call.ts'
import { askTranscript } from '../../protocols/upstream/ask.ts'
import type { UpstreamRequest } from '../../protocols/ports/upstream-request.ts'
import type { TranscriptionProtocol, TranscriptionResult } from '../ports/audio-protocol.ts'
import { isErrorBody } from '../wire/error-body.ts'
import { formBody, formBoundary } from '../../protocols/wire/form-body.ts'
import { LISTING_LIMITS, objectOf, parseJson, textOf, type RawJson } from '../../protocols/wire/raw-json.ts'
import { SseDecoder } from '../../protocols/wire/sse-decoder.ts'
import { TokenReader } from '../../protocols/answers/token-reader.ts'
import { readLengths, readSegments, readWords } from '../../protocols/upstream/transcripts.ts'
import { headerOf, type Transport, type UpstreamHeaders } from '../../protocols/wire/transport.ts'
import { eventFailure, upstreamFailure } from '../wire/upstream-error.ts'
import { keyHeaders } from '../../catalog/dialect.ts'

/** Abilities of a model, by its name: services cannot be asked, and each refuses unknown parameters. */
interface Traits {
  /** Whether it accepts `response_format`, and with it `verbose_json`. */
  readonly verbose: boolean
  readonly format: boolean
  /** Whether it gives times, in `verbose_json` or through a parameter. */
  readonly times: boolean
  readonly translates: boolean
}

const WHISPER: Traits = { verbose: true, format: true, times: true, translates: true }
const COUNTS = ['input_tokens', 'output_tokens', 'prompt_tokens', 'completion_tokens']

function traitsOf({ upstreamModel, supportedParameters }: Endpoint): Traits {
  const name = upstreamModel.toLowerCase()
  // OpenAI's later models answer in JSON without times; Mistral's have no formats and give times on request.
  const traits = /(^|\/)gpt-/.test(name)
    ? { verbose: false, format: true, times: false, translates: false }
    : name.includes('voxtral')
      ? { verbose: false, format: false, times: true, translates: false }
      : /turbo|distil/.test(name)
        ? { ...WHISPER, translates: false }
        : WHISPER
  if (supportedParameters === null || supportedParameters.includes('timestamp_granularities')) return traits
  return { ...traits, times: false }
}

/** `/audio/transcriptions` and `/audio/translations` of OpenAI, Groq, Mistral and every dialect of them. */
export function openaiTranscription(transport: Transport, now: () => number): TranscriptionProtocol {
  const error = (status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure =>
    upstreamFailure(status, body, headers, now())
  return {
    timestamps: (endpoint) => traitsOf(endpoint).times,
    translates: (endpoint) => traitsOf(endpoint).translates,
    ask: (call, sink) =>
      askTranscript(transport, call, { request: () => requestOf(call), answer: readTranscript, error }, sink),
  }
}

function requestOf(call: UnitCall<TranscriptionRequest>): UpstreamRequest {
  const { endpoint, request, generationId } = call
  const { audio, task } = request
  const { body, contentType } = formBody(
    fieldsOf(endpoint, request),
    { fileName: `audio.${audio.format}`, contentType: audio.contentType, bytes: audio.bytes },
    formBoundary(generationId),
  )
  const path = `/audio/${task === 'translate' ? 'translations' : 'transcriptions'}${endpoint.provider.dialect.query}`
  return {
    path,
    body,
    headers: { ...keyHeaders(call.endpoint.provider.dialect, call.apiKey), 'content-type': contentType },
  }
}

function fieldsOf(endpoint: Endpoint, request: TranscriptionRequest): readonly (readonly [string, string])[] {
  const traits = traitsOf(endpoint)
  const { supportedParameters: supported } = endpoint
  const takes = (name: string): boolean => supported === null || supported.includes(name)
  const timed = needsTimestamps(request.format) && traits.times
  const fields: [string, string][] = [['model', endpoint.upstreamModel]]
  // The client pays for the length that this format reports.
  if (traits.format) fields.push(['response_format', traits.verbose ? 'verbose_json' : 'json'])
  // At Mistral times and a language exclude each other.
  if (request.language !== null && request.task === 'transcribe' && takes('language') && (traits.verbose || !timed))
    fields.push(['language', request.language])
  if (request.prompt !== null && takes('prompt') && traits.format) fields.push(['prompt', request.prompt])
  if (request.temperature !== null && takes('temperature')) fields.push(['temperature', String(request.temperature)])
  if (timed && request.task === 'transcribe') fields.push(...granularities(request, traits))
  if (endpoint.upstreamModel.includes('diarize')) fields.push(['chunking_strategy', 'auto'])
  return fields
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
  const type = headerOf(headers, 'content-type') ?? ''
  const upstreamId = headerOf(headers, 'x-request-id') ?? null
  const body = /^text\/event-stream/i.test(type) ? lastEvent(bytes) : parseJson(bytes, LISTING_LIMITS)
  if (isErrorBody(body)) return eventFailure(body['error'])
  const answer = objectOf(body)
  const text = textOf(answer?.['text'])
  if (answer !== null && text !== null) return resultOf(answer, text, upstreamId)
  // A service without formats may answer with bare text.
  if (/^text\/plain/i.test(type)) return resultOf({}, bytes.toString('utf8'), upstreamId)
  return garbage('no transcript', bytes)
}

/** Some services always stream; the last event holds the whole text. */
function lastEvent(bytes: Buffer): unknown {
  let last: unknown = undefined
  const decoder = new SseDecoder({
    event: (data) => {
      const event = parseJson(data)
      if (isErrorBody(event) || objectOf(event)?.['type'] === 'transcript.text.done') last = event
    },
    errorLine: () => undefined,
  })
  decoder.push(bytes)
  decoder.end()
  return last
}

function resultOf(answer: RawJson, text: string, upstreamId: string | null): TranscriptionResult {
  const usage = objectOf(answer['usage'])
  return {
    transcript: {
      text,
      language: textOf(answer['language']),
      segments: readSegments(answer['segments']),
      words: readWords(answer['words'], 'word'),
    },
    ...readLengths(answer['duration'], usage?.['seconds'], usage?.['prompt_audio_seconds']),
    usage: transcriptUsage(usage),
    upstreamId,
  }
}

/** Audio tokens are dearer than a prompt's; where they are not counted separately, all count as audio. */
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
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  })
}
