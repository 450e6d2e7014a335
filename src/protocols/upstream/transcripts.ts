import { ownValue } from '../../base/own-value.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import { askWhole, type WholeAsk, type WholeReader } from './ask.ts'
import type { UnitCall, UpstreamRequest } from '../ports/call.ts'
import { formBody, formBoundary } from '../wire/form-body.ts'
import type { Transport } from '../wire/transport.ts'
import type { TranscriptSegment, TranscriptWord } from '../../kinds/transcription/transcript.ts'
import type { TranscriptionProtocol, TranscriptionResult } from './audio.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { amountOf } from '../answers/token-reader.ts'

/** Numbers of Whisper's segments, by their wire names. */
const FIGURES = ['seek', 'temperature', 'avg_logprob', 'compression_ratio', 'no_speech_prob'] as const
/** Far more segments than 10 MB of sound can have. */
const ITEMS_MAX = 200_000
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const MONTH_SECONDS = 2_678_400

/** A time or a length in seconds; null = a value that no sound has. */
export function secondsIn(value: unknown): number | null {
  const seconds = amountOf(value)
  return seconds !== null && seconds <= MONTH_SECONDS ? seconds : null
}

/**
 * The lengths in a provider's answer; null = it gives no possible one. `implausible` marks an impossible one. If the
 * provider names several billed lengths, the first readable one counts.
 */
export function readLengths(
  seconds: unknown,
  ...billed: readonly unknown[]
): { readonly seconds: number | null; readonly billedSeconds: number | null; readonly implausible: boolean } {
  const isOdd = (value: unknown): boolean => value !== undefined && value !== null && secondsIn(value) === null
  const billedSeconds = billed.map(secondsIn).find((found) => found !== null) ?? null
  return { seconds: secondsIn(seconds), billedSeconds, implausible: [seconds, ...billed].some(isOdd) }
}

/** The result of a service that returns only a text. */
export function textOnly(
  text: string,
  told: Partial<Pick<TranscriptionResult, 'usage' | 'upstreamId'>> = {},
): TranscriptionResult {
  return {
    transcript: { text, language: null, segments: [], words: [] },
    seconds: null,
    billedSeconds: null,
    implausible: false,
    usage: null,
    upstreamId: null,
    ...told,
  }
}

/** A language in the form of services that want its country too. */
export function withCountry(language: string): string {
  if (language.includes('-')) return language
  return language === 'en' ? 'en-US' : `${language}-${language.toUpperCase()}`
}

/** Segments in Whisper's form, without those that lack a text or a time. */
export function readSegments(value: unknown): readonly TranscriptSegment[] {
  return itemsOf(value, (segment) => {
    const start = secondsIn(segment['start'])
    const end = secondsIn(segment['end'])
    const text = textOf(segment['text'])
    return start === null || end === null || text === null
      ? null
      : { start, end, text, ...speakerOf(segment['speaker']), figures: figuresOf(segment) }
  })
}

/** The results of `read` for the objects of a list, without null. A list of other values may be very long. */
function itemsOf<T>(value: unknown, read: (item: RawJson) => T | null): readonly T[] {
  const items: T[] = []
  for (const [index, raw] of listOf(value).entries()) {
    if (index === ITEMS_MAX) break
    const object = objectOf(raw)
    const item = object === null ? null : read(object)
    if (item !== null) items.push(item)
  }
  return items
}

/** Words with their times; `name` is the field with the word. */
export function readWords(
  value: unknown,
  name: string,
  isWord: (word: RawJson) => boolean = () => true,
): readonly TranscriptWord[] {
  return itemsOf(value, (item) => {
    const start = secondsIn(item['start'])
    const end = secondsIn(item['end'])
    const word = textOf(item[name])
    return start === null || end === null || word === null || !isWord(item)
      ? null
      : { word, start, end, ...speakerOf(item['speaker']) }
  })
}

function speakerOf(value: unknown): { readonly speaker?: string } {
  const speaker = textOf(value)
  return speaker === null || speaker === '' ? {} : { speaker }
}

/**
 * The objects of a list with the letters that OpenAI gives to unnamed speakers: A for the first who speaks. They
 * replace the provider's own ids, which are in the field `id`.
 */
export function lettered(items: unknown, id: string): readonly RawJson[] {
  const letter = speakerLetters()
  return itemsOf(items, (item) => ({ ...item, speaker: letter(ownValue(item, id)) }))
}

function speakerLetters(): (id: unknown) => string | null {
  const known = new Map<string | number, string>()
  return (id) => {
    if (typeof id !== 'string' && typeof id !== 'number') return null
    const round = Math.floor(known.size / LETTERS.length)
    const letter = known.get(id) ?? `${LETTERS[known.size % LETTERS.length] ?? ''}${round === 0 ? '' : round + 1}`
    known.set(id, letter)
    return letter
  }
}

function figuresOf(segment: RawJson): Readonly<Record<string, number | readonly number[]>> {
  const figures: Record<string, number | readonly number[]> = {}
  for (const name of FIGURES) {
    const value = segment[name]
    if (typeof value === 'number' && Number.isFinite(value)) figures[name] = value
  }
  const tokens = segment['tokens']
  if (Array.isArray(tokens) && tokens.every((token) => Number.isSafeInteger(token))) figures['tokens'] = tokens
  return figures
}

/**
 * The words of a sound of 10 MB with their times are less than 10 MB, whatever its codec. A client gets each of them up
 * to twice, and writing 30 MB of text took 0.2 s.
 */
export const TRANSCRIPT_BYTES_MAX = 10 * 1_048_576

/** How a provider is asked for a transcript, and its abilities; absent = neither times nor translations. */
interface TranscriptAsk extends Partial<Omit<TranscriptionProtocol, 'ask'>> {
  /** Throws an `UnsendableError` for a sound or a parameter that the provider does not accept. */
  request(call: UnitCall<TranscriptionRequest>): UpstreamRequest
  readonly reads: Omit<WholeAsk, 'request' | 'bytesMax'> & WholeReader<TranscriptionResult>
}

/** Transcripts, each by one request. */
export function askTranscript(
  transport: Transport,
  { request, reads, ...abilities }: TranscriptAsk,
): TranscriptionProtocol {
  return {
    timestamps: () => false,
    translates: () => false,
    ...abilities,
    ask: (call, sink) =>
      askWhole(transport, call, { ...reads, request: () => request(call), bytesMax: TRANSCRIPT_BYTES_MAX }, sink),
  }
}

/** The form of a request with the sound as a file. */
export function soundForm(
  fields: readonly (readonly [name: string, value: string])[],
  { request: { audio }, generationId }: UnitCall<TranscriptionRequest>,
): ReturnType<typeof formBody> {
  const file = { fileName: `audio.${audio.format}`, contentType: audio.contentType, bytes: audio.bytes }
  return formBody(fields, file, formBoundary(generationId))
}
