import type { Clock } from '../../base/clock.ts'
import { PCM_RATE, type SpeechFormat, wavHead } from '../../kinds/speech.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import type { TranscriptSegment, TranscriptWord } from '../../kinds/transcription/transcript.ts'
import { TokenReader } from '../answers/token-reader.ts'
import type { RunningCall } from '../ports/call.ts'
import type {
  SpeechCall,
  SpeechProtocol,
  SpeechSink,
  TranscriptionProtocol,
  TranscriptionResult,
} from '../upstream/audio.ts'
import { type SandboxScript, ScriptedCall, readScript, resultOnce } from './script.ts'

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

const SANDBOX_FORMATS: readonly SpeechFormat[] = ['mp3', 'wav', 'pcm']
/** The length of one character. */
const CHARACTER_SECONDS = 0.024
const VOLUME = 6_000
const TONE_MIN_HZ = 180
const TONES = 32
const TONE_STEP_HZ = 12
/** An MPEG-2 layer 3 frame, 32 kbit/s, 24 kHz, mono: 24 ms, silent because its side information is empty. */
const SILENT_FRAME = Buffer.alloc(96)
SILENT_FRAME.writeUInt32BE(0xfff3_44c0)

/** Each word with the blanks after it; the first also has those before it. */
function spokenWords(text: string): readonly string[] {
  const bare = text.trimStart()
  const [first, ...more] = bare.match(/\S+\s*/g) ?? [bare]
  return [`${text.slice(0, text.length - bare.length)}${first}`, ...more]
}

interface SoundWish {
  readonly text: string
  /** The script's count of words; null = those of the text. */
  readonly words: number | null
  readonly voice: string
  readonly speed: number
  readonly format: SpeechFormat
}

/** The sound of a text in pieces, one for each word: a tone for each character. It depends only on the wish. */
export function sandboxSound({ text, words: count, voice, speed, format }: SoundWish): {
  readonly pieces: number
  /** The bytes of a word; the first piece begins with the file's header. */
  readonly piece: (index: number) => Buffer
} {
  const spoken = spokenWords(text)
  const words = Array.from({ length: count ?? spoken.length }, (_value, index) => spoken[index % spoken.length] ?? '')
  const pitch = [...voice].reduce((sum, character) => (sum + (character.codePointAt(0) ?? 0)) % TONES, 0)
  const samples = Math.round((PCM_RATE * CHARACTER_SECONDS) / speed)
  const soundOf = (word: string): Buffer => {
    const characters = [...word]
    return format === 'mp3'
      ? Buffer.alloc(SILENT_FRAME.length * Math.max(1, Math.round(characters.length / speed)), SILENT_FRAME)
      : Buffer.concat(characters.map((character) => tone(character, pitch, samples)))
  }
  return {
    pieces: words.length,
    piece: (index) => {
      const sound = soundOf(words[index] ?? '')
      if (index > 0 || format !== 'wav') return sound
      return Buffer.concat([wavHead(words.reduce((sum, word) => sum + [...word].length * samples * 2, 0)), sound])
    },
  }
}

function tone(character: string, pitch: number, samples: number): Buffer {
  const hertz = TONE_MIN_HZ + (((character.codePointAt(0) ?? 0) + pitch) % TONES) * TONE_STEP_HZ
  const bytes = Buffer.alloc(samples * 2)
  if (character.trim() === '') return bytes
  for (let at = 0; at < samples; at += 1)
    bytes.writeInt16LE(Math.round(VOLUME * Math.sin((2 * Math.PI * hertz * at) / PCM_RATE)), at * 2)
  return bytes
}

const VOICE = 'alloy'
const CHARACTERS_PER_TOKEN = 4

/**
 * Speech without a provider: tones that depend only on the request. The script is in the text, and its events are
 * words.
 */
export function sandboxSpeech(clock: Clock): SpeechProtocol {
  return { formats: () => SANDBOX_FORMATS, ask: (call, sink) => speak(call, sink, clock) }
}

function speak({ request, voice, format, wantsUsage }: SpeechCall, sink: SpeechSink, clock: Clock): RunningCall {
  const { input: text, speed, characters } = request
  const script = readScript(text)
  const sound = sandboxSound({ text, words: script.words, voice: voice ?? VOICE, speed: speed ?? 1, format })
  return new ScriptedCall(
    {
      begin: () => sink.headers(null),
      eventsBefore: (piece) => piece,
      send: (piece) => (piece === sound.pieces ? null : sink.push(sound.piece(piece))),
      end: () => {
        const inputTokens = Math.ceil(characters / CHARACTERS_PER_TOKEN)
        const usage = { input: inputTokens, audio_output: characters }
        if (wantsUsage) sink.usage(new TokenReader().report({ usage, inputTokens, outputTokens: characters }))
        sink.end()
      },
      fail: (failure) => sink.fail(failure),
    },
    script,
    clock,
  )
}
