import type { App } from './app.ts'
import type { Clock } from '../base/clock.ts'

/** npm and the terminal both pass on the same Ctrl-C: a second signal within this time is the same one. */
const ECHO_MS = 300

export interface InterruptPorts {
  readonly app: Pick<App, 'running' | 'cut'>
  readonly clock: Clock
  readonly say: (line: string) => void
  /** Ends the process at once; running work is recovered at the next start. */
  readonly exit: () => void
}

/**
 * Ctrl-C in steps: the first lets answers end, the second lists the pending ones, the third cuts them, the fourth ends
 * the process.
 */
export class Interrupts {
  readonly #ports: InterruptPorts
  #count = 0
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(ports: InterruptPorts) {
    this.#ports = ports
  }

  /** SIGTERM: `stop` is called once, however many signals come. */
  terminate(stop: () => void): void {
    this.#lastMs = this.#ports.clock.monotonic()
    if (this.#count === 0) this.#begin(stop)
  }

  /** SIGINT. */
  interrupt(stop: () => void): void {
    const { app, clock, say, exit } = this.#ports
    const nowMs = clock.monotonic()
    if (nowMs - this.#lastMs < ECHO_MS) return
    this.#lastMs = nowMs
    if (this.#count === 0) return this.#begin(stop)
    this.#count += 1
    if (this.#count === 2) return say(`Waiting for ${answers(app.running)}. Press Ctrl-C again to cut them`)
    if (this.#count > 3) return exit()
    say(`Cutting ${answers(app.running)}: their clients get an error, and nothing of them is charged`)
    app.cut()
  }

  #begin(stop: () => void): void {
    const { app, say } = this.#ports
    this.#count = 1
    if (app.running > 0)
      say(`Stopping when ${answers(app.running)} ${app.running === 1 ? 'has' : 'have'} ended, in 120 s at the latest`)
    stop()
  }
}

function answers(count: number): string {
  return `${count} running answer${count === 1 ? '' : 's'}`
}
