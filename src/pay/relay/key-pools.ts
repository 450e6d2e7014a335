import type { Provider } from '../../catalog/catalog.ts'
import type { Affinity } from '../plan/endpoint-order.ts'
import { attraction } from '../../base/rendezvous.ts'
import type { Clock } from '../../base/clock.ts'
import type { RedactedFailure } from '../../protocols/ports/attempt-failure.ts'

const BUSY_SECONDS = 10
const REFUSED_SECONDS = 300

/** A key that its provider refuses: the key's position among how many, from 1. */
export interface RefusedKey {
  readonly provider: string
  readonly key: number
  readonly keys: number
  readonly status: number | null
}

/** Gives out the keys of each provider in turn; a key that was refused or is over its rate rests for a while. */
export class KeyPools {
  readonly #clock: Clock
  readonly #notice: (message: string) => void
  readonly #told: (refused: RefusedKey) => void
  readonly #next = new Map<string, number>()
  /** By key: the clock.monotonic() until which it rests. Only keys of pools are here, so there are few. */
  readonly #restsUntilMs = new Map<string, number>()
  /** Refused keys. Each is reported once until it works again. */
  readonly #refused = new Set<string>()

  constructor(clock: Clock, notice: (message: string) => void, told: (refused: RefusedKey) => void = () => undefined) {
    this.#clock = clock
    this.#notice = notice
    this.#told = told
  }

  /**
   * null = the provider needs no key. A conversation stays with one key, others take turns; if all keys rest, the one
   * that is free soonest is used.
   */
  pick(provider: Provider, affinity: Affinity | null = null): string | null {
    const { apiKeys } = provider
    if (apiKeys.length <= 1) return apiKeys[0] ?? null
    return (affinity === null ? null : this.#warmest(apiKeys, affinity())) ?? this.#inTurn(provider)
  }

  /** The same key on every node while it works; null = all of them rest. */
  #warmest(apiKeys: readonly string[], affinity: number): string | null {
    let warmest: string | null = null
    let most = 0
    for (const key of apiKeys) {
      const pull = attraction(affinity, key)
      if (pull <= most || this.#leftMs(key) > 0) continue
      most = pull
      warmest = key
    }
    return warmest
  }

  #inTurn({ apiKeys, slug }: Provider): string | null {
    const start = (this.#next.get(slug) ?? 0) % apiKeys.length
    let picked = start
    let soonestMs = Number.POSITIVE_INFINITY
    for (let step = 0; step < apiKeys.length && soonestMs > 0; step += 1) {
      const index = (start + step) % apiKeys.length
      const leftMs = this.#leftMs(apiKeys[index] ?? '')
      if (leftMs >= soonestMs) continue
      soonestMs = leftMs
      picked = index
    }
    this.#next.set(slug, (picked + 1) % apiKeys.length)
    return apiKeys[picked] ?? null
  }

  /** Whether the provider has a key that does not rest. */
  hasFree({ apiKeys }: Provider): boolean {
    return apiKeys.length <= 1 || apiKeys.some((key) => this.#leftMs(key) === 0)
  }

  /** The provider refused this key because it is over its rate, unpaid or unknown. */
  failed(provider: Provider, given: string | null, failure: RedactedFailure): void {
    const key = keyOf(provider, given)
    if (key === null) return
    const busy = failure.status === 429 && failure.refusal === null
    if (!busy && !this.#refused.has(key)) {
      this.#refused.add(key)
      const { slug } = provider
      const [place, keys] = placeOf(provider, key)
      this.#told({ provider: slug, key: place, keys, status: failure.status ?? null })
      const said = provider.auth !== undefined && failure.said !== null ? `: ${failure.said}` : ''
      this.#notice(`Provider '${slug}' refuses key ${place} of ${keys} (status ${failure.status ?? 'none'})${said}`)
    }
    if (provider.apiKeys.length <= 1) return
    const seconds = busy ? (failure.retryAfterSeconds ?? BUSY_SECONDS) : REFUSED_SECONDS
    this.#restsUntilMs.set(key, this.#clock.monotonic() + seconds * 1_000)
  }

  /** An answer came with this key. */
  worked(provider: Provider, given: string | null): void {
    const key = keyOf(provider, given)
    if (key === null || !this.#refused.delete(key)) return
    const [place, keys] = placeOf(provider, key)
    this.#notice(`Provider '${provider.slug}' takes key ${place} of ${keys} again`)
  }

  #leftMs(key: string): number {
    const untilMs = this.#restsUntilMs.get(key)
    if (untilMs === undefined) return 0
    const leftMs = untilMs - this.#clock.monotonic()
    if (leftMs > 0) return leftMs
    this.#restsUntilMs.delete(key)
    return 0
  }
}

/** The name of a key; all tokens of a provider count as one key. */
function keyOf({ auth }: Provider, key: string | null): string | null {
  return key ?? auth?.print ?? null
}

/** The position of a key, from 1, and the number of keys. */
function placeOf({ apiKeys, auth }: Provider, key: string): readonly [place: number, keys: number] {
  return auth === undefined ? [apiKeys.indexOf(key) + 1, apiKeys.length] : [1, 1]
}
