import type { Clock } from '../../base/clock.ts'
import type { AttemptFailure } from '../../protocols/ports/attempt-failure.ts'

const RUNNING_MAX = 500
const WAITING_MAX = 100
const WAIT_MS = 2_000

/** The failure of a provider that already runs as many of our requests as it may: it counts as busy. */
export const SATURATED: AttemptFailure = {
  reason: 'saturated',
  status: null,
  publicMessage: null,
  said: null,
  refusal: null,
  retryAfterSeconds: null,
  detail: 'as much runs there as may',
}

interface Waiter {
  readonly granted: () => void
  readonly stop: () => void
}

interface Provider {
  running: number
  readonly waiting: Set<Waiter>
}

/**
 * Limits the requests that run at one provider (guarantees.md 5): a few more wait briefly for a place, the others go
 * elsewhere at once.
 */
export class ProviderSlots {
  readonly #clock: Clock
  readonly #providers = new Map<string, Provider>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes a place if one is free. Each taken place must be released once. */
  claim(slug: string): boolean {
    const provider = this.#of(slug)
    if (provider.running >= RUNNING_MAX) return false
    provider.running += 1
    return true
  }

  /**
   * Calls `told` once, within two seconds, with whether a place became free; the returned function ends the wait. null
   * = too many wait.
   */
  wait(slug: string, told: (granted: boolean) => void): (() => void) | null {
    const provider = this.#of(slug)
    if (provider.waiting.size >= WAITING_MAX) return null
    const over = (granted: boolean): void => {
      provider.waiting.delete(waiter)
      waiter.stop()
      told(granted)
    }
    const waiter: Waiter = { granted: () => over(true), stop: this.#clock.after(WAIT_MS, () => over(false)) }
    provider.waiting.add(waiter)
    return () => {
      provider.waiting.delete(waiter)
      waiter.stop()
    }
  }

  release(slug: string): void {
    const provider = this.#of(slug)
    const [next] = provider.waiting
    if (next === undefined) provider.running -= 1
    else next.granted()
    if (provider.running === 0 && provider.waiting.size === 0) this.#providers.delete(slug)
  }

  /** The requests that run and wait now, by provider. */
  report(): readonly { readonly slug: string; readonly running: number; readonly waiting: number }[] {
    return [...this.#providers].map(([slug, { running, waiting }]) => ({ slug, running, waiting: waiting.size }))
  }

  #of(slug: string): Provider {
    const known = this.#providers.get(slug)
    if (known !== undefined) return known
    const provider = { running: 0, waiting: new Set<Waiter>() }
    this.#providers.set(slug, provider)
    return provider
  }
}

/** The place of one request, at one provider after another. */
export class ProviderPlace {
  readonly #slots: ProviderSlots
  #taken: string | null = null
  #stopWait: (() => void) | null = null

  constructor(slots: ProviderSlots) {
    this.#slots = slots
  }

  get waits(): boolean {
    return this.#stopWait !== null
  }

  /** Calls `told` once with whether there is a place: now, or within two seconds unless it is released before. */
  take(slug: string, told: (granted: boolean) => void): void {
    const over = (granted: boolean): void => {
      this.#stopWait = null
      if (granted) this.#taken = slug
      told(granted)
    }
    if (this.#slots.claim(slug)) return over(true)
    this.#stopWait = this.#slots.wait(slug, over)
    if (this.#stopWait === null) over(false)
  }

  /** Gives up the place, or the wait for one. */
  release(): void {
    this.#stopWait?.()
    this.#stopWait = null
    const slug = this.#taken
    this.#taken = null
    if (slug !== null) this.#slots.release(slug)
  }
}
