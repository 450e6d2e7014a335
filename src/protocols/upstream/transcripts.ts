import { askWhole, type Asked, type WholeRequest } from './ask.ts'
import type { ResultSink, RunningCall } from '../ports/call.ts'
import type { Transport } from '../wire/transport.ts'
import type { TranscriptSegment, TranscriptWord } from '../../kinds/transcription/transcript.ts'
import type { TranscriptionResult } from './audio.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { amountOf } from '../answers/token-reader.ts'

/** Numbers of Whisper's segments, by their wire names. */
const FIGURES = ['seek', 'temperature', 'avg_logprob', 'compression_ratio', 'no_speech_prob'] as const
/** Far more segments than 10 MB of sound can have. */
const ITEMS_MAX = 200_000
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const MONTH_SECONDS = 2_678_400

/** A time or a length in seconds; null for a value that no sound has. */
export function secondsIn(value: unknown): number | null {
  const seconds = amountOf(value)
  return seconds !== null && seconds <= MONTH_SECONDS ? seconds : null
}

/**
 * The lengths in a provider's answer: null where it gives none that is possible, with a mark when one of them is
 * impossible. Of several lengths that it bills, the first readable one counts.
 */
export function readLengths(
  seconds: unknown,
  ...billed: readonly unknown[]
): { readonly seconds: number | null; readonly billedSeconds: number | null; readonly implausible: boolean } {
  const isOdd = (value: unknown): boolean => value !== undefined && value !== null && secondsIn(value) === null
  const billedSeconds = billed.map(secondsIn).find((found) => found !== null) ?? null
  return { seconds: secondsIn(seconds), billedSeconds, implausible: [seconds, ...billed].some(isOdd) }
}

/** The result of a service that tells a text alone. */
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

/** A language as services name it that want its country too. */
export function withCountry(language: string): string {
  if (language.includes('-')) return language
  return language === 'en' ? 'en-US' : `${language}-${language.toUpperCase()}`
}

/** Segments in Whisper's form, without those that lack a text or a time. */
export function readSegments(value: unknown): readonly TranscriptSegment[] {
  return listOf(value)
    .slice(0, ITEMS_MAX)
    .flatMap((raw) => {
      const segment = objectOf(raw)
      const start = secondsIn(segment?.['start'])
      const end = secondsIn(segment?.['end'])
      const text = textOf(segment?.['text'])
      return segment === null || start === null || end === null || text === null
        ? []
        : [{ start, end, text, ...speakerOf(segment['speaker']), figures: figuresOf(segment) }]
    })
}

/** Words with their times; `name` is the field that holds the word. */
export function readWords(
  value: unknown,
  name: string,
  isWord: (word: RawJson) => boolean = () => true,
): readonly TranscriptWord[] {
  return listOf(value)
    .slice(0, ITEMS_MAX)
    .flatMap((raw) => {
      const item = objectOf(raw)
      const start = secondsIn(item?.['start'])
      const end = secondsIn(item?.['end'])
      const word = textOf(item?.[name])
      return item === null || start === null || end === null || word === null || !isWord(item)
        ? []
        : [{ word, start, end, ...speakerOf(item['speaker']) }]
    })
}

function speakerOf(value: unknown): { readonly speaker?: string } {
  const speaker = textOf(value)
  return speaker === null || speaker === '' ? {} : { speaker }
}

/** The letters that OpenAI gives to unnamed speakers, for a provider's own ids: A for the first who speaks. */
export function speakerLetters(): (id: unknown) => string | null {
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
 * to twice, and 30 MB of text took 0.2 s to write.
 */
export const TRANSCRIPT_BYTES_MAX = 12 * 1_048_576

/** Asks a provider what was said. */
export function askTranscript(
  transport: Transport,
  call: Pick<Asked, 'endpoint'>,
  request: WholeRequest<TranscriptionResult>,
  sink: ResultSink<TranscriptionResult>,
): RunningCall {
  return askWhole(transport, call, { ...request, bytesMax: TRANSCRIPT_BYTES_MAX }, sink)
}
