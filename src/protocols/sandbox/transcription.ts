import type { TranscriptSegment, TranscriptWord } from '../../kinds/transcription/transcript.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import type { Clock } from '../../base/clock.ts'
import type { TranscriptionProtocol, TranscriptionResult } from '../upstream/audio.ts'
import { readScript, resultOnce, type SandboxScript } from './script.ts'

/** Assumed for a sound whose container does not state its length. */
const BYTES_PER_SECOND = 16_000

/** Transcripts without a provider, which depend only on the file's length and format. The script is in the prompt. */
export function sandboxTranscription(clock: Clock): TranscriptionProtocol {
  return {
    timestamps: () => true,
    speakers: () => true,
    translates: () => true,
    ask: ({ request }, sink) => {
      const script = readScript(request.prompt ?? '')
      return resultOnce(script, clock, sink, () => resultOf(request, script))
    },
  }
}

function resultOf({ audio, task, language }: TranscriptionRequest, script: SandboxScript): TranscriptionResult {
  const seconds = audio.seconds ?? audio.bytes.length / BYTES_PER_SECOND
  const said = [
    `Hello from the sandbox${task === 'translate' ? ', in English' : ''}.`,
    `You sent ${tenths(seconds)} seconds of ${audio.format}.`,
  ]
  const sentences =
    script.words === 0
      ? []
      : script.words === null
        ? said
        : [Array.from({ length: script.words }, (_value, index) => `word${index + 1}`).join(' ')]
  const { segments, words } = timed(sentences, seconds)
  return {
    transcript: {
      text: sentences.join(' '),
      language: task === 'translate' ? 'english' : (language ?? 'english'),
      segments,
      words,
    },
    seconds,
    billedSeconds: null,
    implausible: false,
    usage: null,
    upstreamId: null,
  }
}

/** The words with times; every word is equally long. */
function timed(
  sentences: readonly string[],
  seconds: number,
): { readonly segments: readonly TranscriptSegment[]; readonly words: readonly TranscriptWord[] } {
  const each = seconds / Math.max(1, sentences.join(' ').split(' ').length)
  const segments: TranscriptSegment[] = []
  const words: TranscriptWord[] = []
  for (const text of sentences) {
    const first = words.length
    for (const word of text.split(' '))
      words.push({ word, start: milliseconds(words.length * each), end: milliseconds((words.length + 1) * each) })
    segments.push({
      start: milliseconds(first * each),
      end: milliseconds(words.length * each),
      text,
      speaker: segments.length % 2 === 0 ? 'A' : 'B',
      figures: {},
    })
  }
  return { segments, words }
}

function tenths(seconds: number): string {
  return String(Math.round(seconds * 10) / 10)
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1_000) / 1_000
}
