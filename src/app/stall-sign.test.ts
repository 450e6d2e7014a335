import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StallSign } from './signs.ts'

/** A clock whose timers run late, as in an event loop that stood still. */
class LateClock {
  #nowMs = 0
  #due: { readonly atMs: number; readonly task: () => void } | null = null

  now(): number {
    return this.#nowMs
  }

  monotonic(): number {
    return this.#nowMs
  }

  after(delayMs: number, task: () => void): () => void {
    const due = { atMs: this.#nowMs + delayMs, task }
    this.#due = due
    return () => {
      if (this.#due === due) this.#due = null
    }
  }

  /** Lets time pass without running a timer. */
  stand(ms: number): void {
    this.#nowMs += ms
  }

  /** Runs a due timer. */
  turn(): void {
    const due = this.#due
    if (due === null || due.atMs > this.#nowMs) return
    this.#due = null
    due.task()
  }
}

test('a loop that stood still for more than five seconds is shown, at once and for ten seconds', () => {
  const clock = new LateClock()
  const sign = new StallSign(clock)
  sign.start()
  const turns = (count: number): void => {
    for (let index = 0; index < count; index += 1) {
      clock.stand(500)
      clock.turn()
    }
  }
  turns(100)
  assert.equal(sign.shown, false)
  clock.stand(5_400)
  clock.turn()
  assert.equal(sign.shown, false, 'late, and not yet a stall')
  clock.stand(5_501)
  assert.equal(sign.shown, true, 'before its timer had its turn')
  clock.turn()
  assert.equal(sign.shown, true)
  turns(19)
  assert.equal(sign.shown, true)
  turns(2)
  assert.equal(sign.shown, false)
  sign.stop()
})
