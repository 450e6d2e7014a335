import { Bag, type BagItem } from '../../base/bag.ts'
import type { Clock } from '../../base/clock.ts'
import { reachName } from '../../access/principal.ts'
import type { Generation } from './generation.ts'

/**
 * A stream that can be found. It is set to null when it can no longer be found: the tables that the map has outgrown
 * still refer to it, as `Bag` explains.
 */
interface FindableStream {
  generation: Generation | null
}

interface RetainedStream extends BagItem {
  readonly stop: () => void
}

/**
 * Streams that can be resumed or cancelled: running ones, and buffered ones for a while after their end (wire.md
 * D-7.8).
 */
export class Streams {
  readonly #clock: Clock
  readonly #byId = new Map<string, FindableStream>()
  /** Timers of streams that are retained after their end. */
  readonly #kept = new Bag<RetainedStream>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The newest stream of this `reachName` with this X-Request-Id, or the one with this generation id. */
  find(owner: string, id: string): Generation | null {
    const byGeneration = this.#byId.get(id)?.generation ?? null
    if (byGeneration !== null && reachName(byGeneration.input.principal) === owner) return byGeneration
    return this.#byId.get(requestKey(owner, id))?.generation ?? null
  }

  /** Like `find`, but only if every event from the first on is still in memory. */
  resumable(owner: string, id: string): Generation | null {
    const generation = this.find(owner, id)
    return generation === null || generation.input.buffer === null || generation.input.buffer.overflowed
      ? null
      : generation
  }

  add(generation: Generation, retentionSeconds: number): void {
    const { generationId, principal, requestId, buffer } = generation.input
    const entry: FindableStream = { generation }
    this.#byId.set(generationId, entry)
    if (buffer !== null) this.#byId.set(requestKey(reachName(principal), requestId), entry)
    void generation.done.then(() => {
      buffer?.ended(retentionSeconds * 1_000)
      if (buffer === null || buffer.overflowed) this.#forget(generation)
      else this.#keep(generation, retentionSeconds * 1_000)
    })
  }

  /** Its owner has deleted it, so it can no longer be found or resumed. */
  drop(generation: Generation): void {
    this.#forget(generation)
  }

  /** Drops the retained streams, which have ended. */
  stop(): void {
    for (const kept of this.#kept) {
      kept.stop()
      this.#kept.delete(kept)
    }
  }

  #keep(generation: Generation, ms: number): void {
    const stop = this.#clock.after(ms, () => {
      this.#kept.delete(kept)
      this.#forget(generation)
    })
    const kept: RetainedStream = { bagPlace: 0, stop }
    this.#kept.add(kept)
  }

  #forget(generation: Generation): void {
    const { generationId, principal, requestId, buffer } = generation.input
    const entry = this.#byId.get(generationId)
    this.#byId.delete(generationId)
    const key = requestKey(reachName(principal), requestId)
    if (entry !== undefined && this.#byId.get(key) === entry) this.#byId.delete(key)
    if (entry !== undefined) entry.generation = null
    buffer?.release()
  }
}

/** An owner's name contains no space, so no request id can imitate another owner's. */
function requestKey(owner: string, requestId: string): string {
  return `${owner} ${requestId}`
}
