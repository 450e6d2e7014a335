/** Time as a parameter, so that a test or the simulator can move it. */
export interface Clock {
  /** Wall clock, Unix milliseconds. */
  now(): number
  /** Milliseconds that only grow, for durations and rate windows. */
  monotonic(): number
  /** Runs `task` once after `delayMs`; the answer cancels it. */
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
