import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { ResultSink, RunningCall } from '../ports/call.ts'
import type { SpeechSink } from '../ports/audio-protocol.ts'

const SLICE_BYTES = 65_536

/** Speech that a provider returned whole. */
export interface Sound {
  readonly audio: Buffer
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
}

/** Passes whole speech on at the client's pace. */
export class WholeSound implements RunningCall {
  readonly #sink: SpeechSink
  readonly #call: RunningCall
  #sound: Sound | null = null
  #at = 0
  #paused = false
  #over = false

  constructor(sink: SpeechSink, ask: (sink: ResultSink<Sound>) => RunningCall) {
    this.#sink = sink
    this.#call = ask({
      // Nothing is billed before the answer is there; its id comes with it.
      headers: () => sink.headers(null),
      result: (sound) => this.#came(sound),
      fail: (found) => sink.fail(found),
    })
  }

  cancel(): void {
    this.#over = true
    this.#call.cancel()
  }

  resume(): void {
    if (this.#sound === null) return this.#call.resume()
    if (!this.#paused) return
    this.#paused = false
    this.#run(this.#sound)
  }

  #came(sound: Sound): void {
    this.#sound = sound
    if (sound.upstreamId !== null) this.#sink.headers(sound.upstreamId)
    if (sound.usage !== null) this.#sink.usage(sound.usage)
    this.#run(sound)
  }

  #run({ audio }: Sound): void {
    while (!this.#over && !this.#paused && this.#at < audio.length) {
      const slice = audio.subarray(this.#at, this.#at + SLICE_BYTES)
      this.#at += slice.length
      if (!this.#sink.push(slice)) this.#paused = true
    }
    if (this.#over || this.#at < audio.length) return
    this.#over = true
    this.#sink.end()
  }
}
