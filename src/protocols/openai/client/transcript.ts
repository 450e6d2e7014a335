import { assert } from '../../../base/assert.ts'
import { rubles, type Micro } from '../../../base/money.ts'
import { segmentsOf, type Transcript, type TranscriptSegment } from '../../../kinds/transcription/transcript.ts'
import type { TranscriptionRequest } from '../../../kinds/transcription/request.ts'

/** OpenAI's type for every format except JSON: with it SDKs return the text. */
export const TEXT_TYPE = 'text/plain; charset=utf-8'
const MILLISECONDS = 1_000

/** The charged amounts, for the client. */
export interface TranscriptUsage {
  /** The charged seconds, rounded up to tenths. */
  readonly seconds: number
  /** The length that the provider or the file states. */
  readonly duration: number
  /** null = the model is priced only by time. */
  readonly tokens: { readonly input: number; readonly output: number } | null
  readonly chargedMicro: Micro
}

/** The body in the requested format: an object for JSON, otherwise a text. */
export function renderTranscript(
  request: TranscriptionRequest,
  transcript: Transcript,
  usage: TranscriptUsage,
): Record<string, unknown> | string {
  switch (request.format) {
    case 'json':
      return { text: transcript.text, ...logprobsOf(request, transcript), usage: usageOf(usage) }
    case 'diarized_json':
      return {
        task: 'transcribe',
        duration: usage.duration,
        text: transcript.text,
        segments: spokenSegments(transcript, usage.duration),
        usage: usageOf(usage),
      }
    case 'verbose_json':
      return { ...verboseOf(request, transcript, usage.duration), usage: usageOf(usage) }
    case 'text':
      return transcript.text
    case 'srt':
      return cues(transcript, usage.duration)
        .map(
          ({ start, end, text }, index) =>
            `${index + 1}\n${clockTime(start, ',')} --> ${clockTime(end, ',')}\n${text}\n\n`,
        )
        .join('')
    case 'vtt':
      return `WEBVTT\n\n${cues(transcript, usage.duration)
        .map(({ start, end, text }) => `${clockTime(start, '.')} --> ${clockTime(end, '.')}\n${escaped(text)}\n\n`)
        .join('')}`
  }
}

/** One speaker's stretch: a member of `diarized_json`, and an event of its stream. */
interface SpokenSegment {
  readonly type: 'transcript.text.segment'
  readonly id: string
  readonly start: number
  readonly end: number
  readonly text: string
  readonly speaker: string
}

/** The name of a speaker that is not known, since clients' schemas require one. */
const NOBODY_KNOWN = 'unknown'

function spokenSegments(transcript: Transcript, duration: number): readonly SpokenSegment[] {
  return segmentsOf(transcript, duration).map(({ start, end, text, speaker = NOBODY_KNOWN }, index) => ({
    type: 'transcript.text.segment',
    id: `seg_${String(index + 1).padStart(3, '0')}`,
    start,
    end,
    text,
    speaker,
  }))
}

function logprobsOf(
  { logprobs: asked }: TranscriptionRequest,
  { logprobs }: Transcript,
): { readonly logprobs?: readonly unknown[] } {
  return asked && logprobs !== undefined ? { logprobs } : {}
}

interface TextEvent {
  readonly type: 'transcript.text.delta' | 'transcript.text.done'
  readonly delta?: string
  readonly text?: string
  readonly logprobs?: readonly unknown[]
  readonly usage?: Readonly<Record<string, unknown>>
}

export type TranscriptEvent = TextEvent | SpokenSegment

/** The same transcript as events; the first has the whole text. */
export function transcriptEvents(
  request: TranscriptionRequest,
  transcript: Transcript,
  usage: TranscriptUsage,
): readonly TranscriptEvent[] {
  const { text } = transcript
  return [
    ...(text === '' ? [] : [{ type: 'transcript.text.delta', delta: text } as const]),
    ...(request.format === 'diarized_json' ? spokenSegments(transcript, usage.duration) : []),
    { type: 'transcript.text.done', text, ...logprobsOf(request, transcript), usage: usageOf(usage) },
  ]
}

function usageOf({ seconds, tokens, chargedMicro }: TranscriptUsage): Record<string, unknown> {
  const price = { cost: rubles(chargedMicro), currency: 'RUB' }
  if (tokens === null) return { type: 'duration', seconds, ...price }
  return {
    type: 'tokens',
    input_tokens: tokens.input,
    output_tokens: tokens.output,
    total_tokens: tokens.input + tokens.output,
    seconds,
    ...price,
  }
}

function verboseOf(
  { task, language: asked, granularities }: TranscriptionRequest,
  transcript: Transcript,
  duration: number,
): Record<string, unknown> {
  const language = task === 'translate' ? 'english' : (transcript.language ?? asked)
  const segments = segmentsOf(transcript, duration)
  return {
    task,
    ...(language === null ? {} : { language }),
    duration,
    text: transcript.text,
    ...(granularities.includes('segment') ? { segments: segments.map(segmentOf) } : {}),
    ...(granularities.includes('word') && transcript.words.length > 0
      ? { words: transcript.words.map(({ word, start, end }) => ({ word, start, end })) }
      : {}),
  }
}

/** A segment with every figure of Whisper, which clients' schemas require; for other providers they are 0. */
function segmentOf({ start, end, text, figures }: TranscriptSegment, id: number): Record<string, unknown> {
  return {
    id,
    seek: 0,
    start,
    end,
    text,
    tokens: [],
    temperature: 0,
    avg_logprob: 0,
    compression_ratio: 0,
    no_speech_prob: 0,
    ...figures,
  }
}

/** The cues. A blank line ends a cue, so its text has none. */
function cues(
  transcript: Transcript,
  duration: number,
): readonly { readonly start: number; readonly end: number; readonly text: string }[] {
  return segmentsOf(transcript, duration).map(({ start, end, text }) => ({
    start,
    end: Math.max(start, end),
    text: withoutBlankLines(text),
  }))
}

function withoutBlankLines(text: string): string {
  return (text.match(/\S[^\n]*/g) ?? []).map((line) => line.trimEnd()).join('\n')
}

/** Escapes the three characters that begin a tag in WebVTT, and with them an arrow, which would be read as a time. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function clockTime(seconds: number, separator: ',' | '.'): string {
  assert(seconds >= 0, 'A cue begins after the sound does.')
  const total = Math.round(seconds * MILLISECONDS)
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  return `${two(total / 3_600_000)}:${two((total / 60_000) % 60)}:${two((total / 1_000) % 60)}${separator}${String(total % 1_000).padStart(3, '0')}`
}
