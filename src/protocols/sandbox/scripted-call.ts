import type { Clock } from '../../base/clock.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import type { RunningCall } from '../ports/call.ts'
import { failureOf } from './failure.ts'
import type { SandboxScript } from './script.ts'

/** An answer in pieces. */
export interface ScriptedAnswer {
  /** Sends the head of the answer. */
  begin(): void
  /** The number of script events before a piece; null where the script can have no fault. */
  eventsBefore(piece: number): number | null
  /** Sends a piece; false asks for a pause, null = the answer is complete. */
  send(piece: number): boolean | null
  end(): void
  fail(failure: AttemptFailure): void
}

/** Plays an answer by its script: delay, gaps and faults, with pauses for the client. */
export class ScriptedCall implements RunningCall {
  readonly #answer: ScriptedAnswer
  readonly #script: SandboxScript
  readonly #clock: Clock
  #next = 0
  #paused = false
  #over = false
  #stop: () => void

  constructor(answer: ScriptedAnswer, script: SandboxScript, clock: Clock) {
    this.#answer = answer
    this.#script = script
    this.#clock = clock
    this.#stop = clock.after(script.delayMs, () => this.#begin())
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
    this.#answer.begin()
    this.#run()
  }

  /** Sends pieces until the end, the next gap or a pause. */
  #run(): void {
    while (!this.#over && !this.#paused) {
      if (this.#script.error !== null && this.#script.error === this.#answer.eventsBefore(this.#next))
        return this.#fail(failureOf('error_event', 502, 'error by script'))
      const hasRoom = this.#answer.send(this.#next)
      if (hasRoom === null) {
        this.#over = true
        return this.#answer.end()
      }
      this.#next += 1
      if (!hasRoom) this.#paused = true
      else if (this.#script.gapMs > 0) {
        this.#stop = this.#clock.after(this.#script.gapMs, () => this.#run())
        return
      }
    }
  }

  #fail(failure: AttemptFailure): void {
    if (this.#over) return
    this.#over = true
    this.#answer.fail(failure)
  }
}
