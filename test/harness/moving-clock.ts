import type { Clock } from '../../src/base/clock.ts'

export interface MovingClock extends Clock {
  /** Advances both clocks and runs the tasks that become due, in order. */
  advance(ms: number): void
  /** Changes only the wall clock, as an operator or a time server does. */
  jump(ms: number): void
}

/** A clock that stands still until a test advances it. */
export function movingClock(startUnixMs = 1_764_547_200_000): MovingClock {
  let nowMs = 0
  let jumpedMs = 0
  const tasks = new Set<{ readonly atMs: number; readonly task: () => void }>()
  return {
    now: () => startUnixMs + nowMs + jumpedMs,
    monotonic: () => nowMs,
    after(delayMs, task) {
      const entry = { atMs: nowMs + delayMs, task }
      tasks.add(entry)
      return () => tasks.delete(entry)
    },
    jump(ms) {
      jumpedMs += ms
    },
    advance(ms) {
      const untilMs = nowMs + ms
      for (;;) {
        const due = [...tasks].filter(({ atMs }) => atMs <= untilMs).sort((left, right) => left.atMs - right.atMs)[0]
        if (due === undefined) break
        tasks.delete(due)
        nowMs = Math.max(nowMs, due.atMs)
        due.task()
      }
      nowMs = untilMs
    },
  }
}
