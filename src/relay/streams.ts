import type { Clock } from '../lib/clock.ts'
import type { Generation } from './generation.ts'

/**
 * Streams that can be resumed or cancelled: running ones, and buffered ones for a while after their end (wire.md
 * D-7.8).
 */
export class Streams {
  readonly #clock: Clock
  readonly #byId = new Map<string, Generation>()
  /** Each cancels the timer of a kept stream. */
  readonly #kept = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The account's newest stream with this X-Request-Id, or the one with this generation id. */
  find(accountId: string, id: string): Generation | null {
    const byGeneration = this.#byId.get(id)
    if (byGeneration !== undefined && byGeneration.input.principal.accountId === accountId) return byGeneration
    return this.#byId.get(requestKey(accountId, id)) ?? null
  }

  /** Like `find`, but only while every event from the first on is kept. */
  resumable(accountId: string, id: string): Generation | null {
    const generation = this.find(accountId, id)
    return generation === null || generation.input.buffer === null || generation.input.buffer.overflowed
      ? null
      : generation
  }

  add(generation: Generation, retentionSeconds: number): void {
    const { generationId, principal, requestId, buffer } = generation.input
    this.#byId.set(generationId, generation)
    if (buffer !== null) this.#byId.set(requestKey(principal.accountId, requestId), generation)
    void generation.done.then(() => {
      buffer?.ended(retentionSeconds * 1_000)
      if (buffer === null || buffer.overflowed) this.#forget(generation)
      else this.#keep(generation, retentionSeconds * 1_000)
    })
  }

  /** Its owner deletes it: it can no longer be found or resumed. */
  drop(generation: Generation): void {
    this.#forget(generation)
  }

  /** Drops the kept streams that have ended. */
  stop(): void {
    for (const stop of this.#kept) stop()
    this.#kept.clear()
  }

  #keep(generation: Generation, ms: number): void {
    const stop = this.#clock.after(ms, () => {
      this.#kept.delete(stop)
      this.#forget(generation)
    })
    this.#kept.add(stop)
  }

  #forget(generation: Generation): void {
    const { generationId, principal, requestId, buffer } = generation.input
    this.#byId.delete(generationId)
    const key = requestKey(principal.accountId, requestId)
    if (this.#byId.get(key) === generation) this.#byId.delete(key)
    buffer?.release()
  }
}

/** Account ids contain no space, so no request id can imitate another account's. */
function requestKey(accountId: string, requestId: string): string {
  return `${accountId} ${requestId}`
}
