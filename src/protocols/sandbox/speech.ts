import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { Clock } from '../../base/clock.ts'
import type { RunningCall } from '../ports/call.ts'
import type { SpeechCall, SpeechProtocol, SpeechSink } from '../upstream/audio.ts'
import { readScript } from './script.ts'
import { ScriptedCall } from './scripted-call.ts'
import { PCM_RATE, wavHead, type SpeechFormat } from '../../kinds/speech.ts'

const SANDBOX_FORMATS: readonly SpeechFormat[] = ['mp3', 'wav', 'pcm']
/** The length of one character. */
const CHARACTER_SECONDS = 0.024
const VOLUME = 6_000
const TONE_MIN_HZ = 180
const TONES = 32
const TONE_STEP_HZ = 12
/** MPEG-2 layer 3, 32 kbit/s, 24 kHz, mono: 24 ms, which empty side information makes silent. */
const SILENT_FRAME = Buffer.alloc(96)
SILENT_FRAME.writeUInt32BE(0xfff3_44c0)

/** Each word with the blanks after it; the first also with those before it. */
function spokenWords(text: string): readonly string[] {
  const bare = text.trimStart()
  const [first, ...more] = bare.match(/\S+\s*/g) ?? [bare]
  return [`${text.slice(0, text.length - bare.length)}${first}`, ...more]
}

/**
 * The sound of a text in pieces, one for each word: a tone for each character. It depends only on text, voice and
 * speed.
 */
export class SandboxSound {
  readonly #format: SpeechFormat
  readonly #words: readonly string[]
  readonly #pitch: number
  readonly #speed: number

  constructor({
    text,
    words,
    voice,
    speed,
    format,
  }: {
    readonly text: string
    readonly words: number | null
    readonly voice: string
    readonly speed: number
    readonly format: SpeechFormat
  }) {
    this.#format = format
    const spoken = spokenWords(text)
    this.#words =
      words === null ? spoken : Array.from({ length: words }, (_value, index) => spoken[index % spoken.length] ?? '')
    this.#pitch = [...voice].reduce((sum, character) => (sum + (character.codePointAt(0) ?? 0)) % TONES, 0)
    this.#speed = speed
  }

  get pieces(): number {
    return this.#words.length
  }

  /** The bytes of a word; the first piece begins with the file's header. */
  piece(index: number): Buffer {
    const sound = this.#soundOf(this.#words[index] ?? '')
    return index === 0 && this.#format === 'wav' ? Buffer.concat([wavHead(this.#bytes()), sound]) : sound
  }

  #soundOf(word: string): Buffer {
    const characters = [...word]
    if (this.#format === 'mp3')
      return Buffer.alloc(SILENT_FRAME.length * Math.max(1, Math.round(characters.length / this.#speed)), SILENT_FRAME)
    return Buffer.concat(characters.map((character) => this.#tone(character)))
  }

  #tone(character: string): Buffer {
    const samples = this.#samples()
    const hertz = TONE_MIN_HZ + (((character.codePointAt(0) ?? 0) + this.#pitch) % TONES) * TONE_STEP_HZ
    const tone = Buffer.alloc(samples * 2)
    if (character.trim() === '') return tone
    for (let at = 0; at < samples; at += 1)
      tone.writeInt16LE(Math.round(VOLUME * Math.sin((2 * Math.PI * hertz * at) / PCM_RATE)), at * 2)
    return tone
  }

  #samples(): number {
    return Math.round((PCM_RATE * CHARACTER_SECONDS) / this.#speed)
  }

  #bytes(): number {
    return this.#words.reduce((sum, word) => sum + [...word].length * this.#samples() * 2, 0)
  }
}

const VOICE = 'alloy'
const CHARACTERS_PER_TOKEN = 4

/**
 * Speech without a provider: tones that depend only on the request. The text holds the script, whose events are words.
 */
export function sandboxSpeech(clock: Clock): SpeechProtocol {
  return { formats: () => SANDBOX_FORMATS, ask: (call, sink) => speak(call, sink, clock) }
}

function speak(call: SpeechCall, sink: SpeechSink, clock: Clock): RunningCall {
  const { request, voice, format, wantsUsage } = call
  const script = readScript(request.input)
  const sound = new SandboxSound({
    text: request.input,
    words: script.words,
    voice: voice ?? VOICE,
    speed: request.speed ?? 1,
    format,
  })
  return new ScriptedCall(
    {
      begin: () => sink.headers(null),
      eventsBefore: (piece) => piece,
      send: (piece) => (piece === sound.pieces ? null : sink.push(sound.piece(piece))),
      end: () => {
        if (wantsUsage) sink.usage(usageOf(request.characters))
        sink.end()
      },
      fail: (failure) => sink.fail(failure),
    },
    script,
    clock,
  )
}

function usageOf(characters: number): UsageReport {
  const input = Math.ceil(characters / CHARACTERS_PER_TOKEN)
  return {
    usage: { input, audio_output: characters },
    inputTokens: input,
    outputTokens: characters,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    implausible: false,
  }
}
