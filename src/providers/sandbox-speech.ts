import type { Clock } from '../lib/clock.ts'
import type { AttemptFailure, RunningCall } from './adapter.ts'
import type { SpeechCall, SpeechProtocol, SpeechSink } from './audio-protocol.ts'
import { failureOf } from './sandbox-failure.ts'
import { readScript, type SandboxScript } from './sandbox-script.ts'
import { SANDBOX_FORMATS, SandboxSound } from './sandbox-sound.ts'

const VOICE = 'alloy'
const CHARACTERS_PER_TOKEN = 4

/** Speech without any provider: tones of the text alone. Its script stands in the text, and its events are words. */
export function sandboxSpeech(clock: Clock): SpeechProtocol {
  return { formats: () => SANDBOX_FORMATS, ask: (call, sink) => new SandboxVoice(call, sink, clock) }
}

class SandboxVoice implements RunningCall {
  readonly #call: SpeechCall
  readonly #sink: SpeechSink
  readonly #clock: Clock
  readonly #script: SandboxScript
  readonly #sound: SandboxSound
  #next = 0
  #paused = false
  #over = false
  #stop: () => void

  constructor(call: SpeechCall, sink: SpeechSink, clock: Clock) {
    const { request, voice, format } = call
    this.#call = call
    this.#sink = sink
    this.#clock = clock
    this.#script = readScript(request.input)
    this.#sound = new SandboxSound({
      text: request.input,
      words: this.#script.empty ? 0 : this.#script.words,
      voice: voice ?? VOICE,
      speed: request.speed ?? 1,
      format,
    })
    this.#stop = clock.after(this.#script.delayMs, () => this.#begin())
  }

  cancel(): void {
    this.#over = true
    this.#stop()
  }

  resume(): void {
    if (!this.#paused || this.#over) return
    this.#paused = false
    this.#run()
  }

  #begin(): void {
    if (this.#script.status !== null) return this.#fail(failureOf('status', this.#script.status, 'status by script'))
    this.#sink.headers(null)
    this.#run()
  }

  /** Speaks until the end, the next gap or a full client. */
  #run(): void {
    while (!this.#over && !this.#paused) {
      if (this.#faultAt(this.#next)) return
      if (this.#next === this.#sound.pieces) return this.#end()
      const piece = this.#sound.piece(this.#next)
      this.#next += 1
      if (!this.#sink.push(piece)) this.#paused = true
      else if (this.#script.gapMs > 0) {
        this.#stop = this.#clock.after(this.#script.gapMs, () => this.#run())
        return
      }
    }
  }

  #faultAt(count: number): boolean {
    if (this.#script.cut === count) this.#fail(failureOf('cut', null, 'cut by script'))
    else if (this.#script.error === count) this.#fail(failureOf('error_event', 502, 'error by script'))
    else if (this.#script.stall === count) {
      this.#stop = this.#clock.after(this.#call.endpoint.provider.timeouts.progress * 1_000, () =>
        this.#fail(failureOf('stall', null, 'stalled by script')),
      )
    } else return false
    return true
  }

  #fail(found: AttemptFailure): void {
    if (this.#over) return
    this.#over = true
    this.#sink.fail(found)
  }

  #end(): void {
    this.#over = true
    if (this.#call.wantsUsage && this.#script.usage !== 'missing') this.#sink.usage(this.#usage())
    this.#sink.end()
  }

  #usage(): Parameters<SpeechSink['usage']>[0] {
    const { characters } = this.#call.request
    const said = { input: Math.ceil(characters / CHARACTERS_PER_TOKEN), output: characters }
    const { input, output } =
      this.#script.usage === 'zero'
        ? { input: 0, output: 0 }
        : this.#script.usage === 'huge'
          ? { input: 1_000_000_000, output: 1_000_000_000 }
          : typeof this.#script.usage === 'object' && this.#script.usage !== null
            ? this.#script.usage
            : said
    return {
      usage: { input, audio_output: output },
      inputTokens: input,
      outputTokens: output,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      implausible: false,
    }
  }
}
