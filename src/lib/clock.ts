/** Time as a parameter, so that a test or the simulator can move it. */
export interface Clock {
  /** Wall clock, Unix milliseconds. */
  now(): number
  /** Milliseconds that never decrease, for durations and rate windows. */
  monotonic(): number
  /** Runs `task` once after `delayMs`; the result cancels it. */
  after(delayMs: number, task: () => void): () => void
}

export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs: number, task: () => void) {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
})
