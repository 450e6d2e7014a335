import type { Settings } from '../catalog/catalog.ts'
import type { Clock } from '../base/clock.ts'
import { RecentMap } from '../base/recent-map.ts'
import { ipKey } from '../http/client-ip.ts'
import { rateHeaders } from './rate-limit.ts'
import { SlidingWindow } from './sliding-window.ts'
import { DAY_MS } from '../base/time.ts'

const IPS_MAX = 100_000
const PROVEN_MAX = 100_000
/** The limit in responses without an account; informative only, nothing is refused by it (wire.md D-7.2). */
const ANONYMOUS_REQUESTS = 60
const ANONYMOUS_WINDOW_MS = 60_000

interface AddressBlock {
  readonly untilMs: number
  /** Consecutive blocks, each within a day of the one before. */
  readonly count: number
}

/** Stops addresses that guess keys (wire.md D-7.3). Times are monotonic, so that a clock step frees nobody. */
export class IpGuard {
  readonly #clock: Clock
  readonly #settings: () => Settings['ipBlock']
  readonly #failures: RecentMap<SlidingWindow>
  readonly #blocks: RecentMap<AddressBlock>
  /** `ip digest` → when that key last worked from this address. */
  readonly #proven = new RecentMap<number>(PROVEN_MAX)
  readonly #anonymous: RecentMap<SlidingWindow>
  /** Whether any address has been blocked since the start; on most nodes none ever is, which saves the look-up. */
  #everBlocked = false

  constructor(options: {
    readonly clock: Clock
    readonly settings: () => Settings['ipBlock']
    readonly ipsMax?: number
  }) {
    this.#clock = options.clock
    this.#settings = options.settings
    const ipsMax = options.ipsMax ?? IPS_MAX
    this.#failures = new RecentMap(ipsMax)
    this.#blocks = new RecentMap(ipsMax)
    this.#anonymous = new RecentMap(ipsMax)
  }

  /** Whole seconds that the address stays blocked, 0 when it is not. */
  blockedSeconds(ip: string): number {
    if (!this.#everBlocked) return 0
    const block = this.#blocks.get(ipKey(ip))
    if (block === undefined) return 0
    return Math.max(0, Math.ceil((block.untilMs - this.#clock.monotonic()) / 1_000))
  }

  /** Counts one 401. The one that reaches the threshold starts a block and returns it. */
  fail(ip: string): { readonly leftMs: number; readonly blocks: number } | null {
    const { failures, window, duration } = this.#settings()
    const key = ipKey(ip)
    const nowMs = this.#clock.monotonic()
    const log = windowOf(this.#failures, key)
    const { remaining } = log.take(failures, window * 1_000, nowMs, nowMs)
    if (remaining > 0) return null
    const before = this.#blocks.get(key)
    const count = before !== undefined && nowMs - before.untilMs < DAY_MS ? before.count + 1 : 1
    const blockMs = Math.min(DAY_MS, duration * 1_000 * 2 ** Math.min(count - 1, 30))
    this.adopt(key, blockMs, count)
    return { leftMs: blockMs, blocks: count }
  }

  /**
   * Takes over a block from another node or this one. `key` is the address in the form of `ipKey`. Returns whether the
   * block is new here.
   */
  adopt(key: string, leftMs: number, count: number): boolean {
    const before = this.#blocks.get(key)
    const nowMs = this.#clock.monotonic()
    const untilMs = nowMs + leftMs
    this.#failures.delete(key)
    this.#everBlocked = true
    this.#blocks.set(key, {
      untilMs: Math.max(untilMs, before?.untilMs ?? 0),
      count: Math.max(count, before?.count ?? 0),
    })
    return (before?.untilMs ?? 0) <= nowMs
  }

  /** Addresses that are blocked now; IPv6 by /64. */
  blocks(): readonly { readonly ip: string; readonly untilMs: number; readonly times: number }[] {
    const nowMs = this.#clock.monotonic()
    return [...this.#blocks]
      .filter(([, { untilMs }]) => untilMs > nowMs)
      .map(([ip, { untilMs, count }]) => ({ ip, untilMs: this.#clock.now() + untilMs - nowMs, times: count }))
  }

  /** The guard's key of an address. The list of blocked addresses shows such keys, and a key maps to itself. */
  keyOf(ip: string): string {
    return this.#blocks.has(ip) ? ip : ipKey(ip)
  }

  /** false = the address was not blocked. `key` is the address in the form of `ipKey`. */
  unblock(key: string): boolean {
    this.#failures.delete(key)
    return this.#blocks.delete(key)
  }

  /** Remembers that a key worked from an address, so that a neighbour's block does not stop it. */
  prove(ip: string, digest: string): void {
    this.#proven.set(`${ipKey(ip)} ${digest}`, this.#clock.monotonic())
  }

  isProven(ip: string, digest: string): boolean {
    const provenAtMs = this.#proven.get(`${ipKey(ip)} ${digest}`)
    return provenAtMs !== undefined && this.#clock.monotonic() - provenAtMs < DAY_MS
  }

  /** The X-RateLimit-* headers of the next response without an account. */
  headers(ip: string): Readonly<Record<string, string>> {
    const log = windowOf(this.#anonymous, ipKey(ip))
    return rateHeaders(log.take(ANONYMOUS_REQUESTS, ANONYMOUS_WINDOW_MS, this.#clock.monotonic(), this.#clock.now()))
  }
}

function windowOf(map: RecentMap<SlidingWindow>, key: string): SlidingWindow {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = new SlidingWindow()
  map.set(key, made)
  return made
}
