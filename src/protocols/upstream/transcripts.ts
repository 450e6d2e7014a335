import type { TranscriptSegment, TranscriptWord } from '../../kinds/transcription/transcript.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { amountOf } from '../answers/token-reader.ts'

/** Numbers of Whisper's segments, by their wire names. */
const FIGURES = ['seek', 'temperature', 'avg_logprob', 'compression_ratio', 'no_speech_prob'] as const
/** Far more segments than 10 MB of sound can have. */
const ITEMS_MAX = 200_000
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
        : [{ start, end, text, figures: figuresOf(segment) }]
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
        : [{ word, start, end }]
    })
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
