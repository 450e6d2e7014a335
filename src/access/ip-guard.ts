import type { Settings } from '../catalog/catalog.ts'
import type { Clock } from '../lib/clock.ts'
import { ipKey } from '../http/client-ip.ts'
import { rateHeaders } from './rate-limit.ts'
import { SlidingWindow } from './sliding-window.ts'

const IPS_MAX = 100_000
const PROVEN_MAX = 100_000
const DAY_MS = 86_400_000
/** What responses without an account say of their address; informative, nothing is refused by it (wire.md D-7.2). */
const ANONYMOUS_REQUESTS = 60
const ANONYMOUS_WINDOW_MS = 60_000

interface Block {
  readonly untilMs: number
  /** Blocks in a row, each within a day of the one before. */
  readonly count: number
}

/** Stops addresses that guess keys (wire.md D-7.3). Times are monotonic, so that a clock step frees nobody. */
export class IpGuard {
  readonly #clock: Clock
  readonly #settings: () => Settings['ipBlock']
  readonly #failures = new Map<string, SlidingWindow>()
  readonly #blocks = new Map<string, Block>()
  /** `ip digest` → when that key last worked from there. */
  readonly #proven = new Map<string, number>()
  readonly #anonymous = new Map<string, SlidingWindow>()
  readonly #ipsMax: number

  constructor(options: { readonly clock: Clock; readonly settings: () => Settings['ipBlock']; readonly ipsMax?: number }) {
    this.#clock = options.clock
    this.#settings = options.settings
    this.#ipsMax = options.ipsMax ?? IPS_MAX
  }

  /** Whole seconds that the address stays blocked, 0 when it is not. */
  blockedSeconds(ip: string): number {
    if (this.#blocks.size === 0) return 0
    const block = this.#blocks.get(ipKey(ip))
    if (block === undefined) return 0
    return Math.max(0, Math.ceil((block.untilMs - this.#clock.monotonic()) / 1_000))
  }

  /** Counts one 401; the one that reaches the threshold starts a block, which is answered. */
  fail(ip: string): { readonly leftMs: number; readonly blocks: number } | null {
    const { failures, window, duration } = this.#settings()
    const key = ipKey(ip)
    const nowMs = this.#clock.monotonic()
    const log = touched(this.#failures, key, this.#ipsMax, newWindow)
    const { remaining } = log.take(failures, window * 1_000, nowMs, nowMs)
    if (remaining > 0) return null
    const before = this.#blocks.get(key)
    const count = before !== undefined && nowMs - before.untilMs < DAY_MS ? before.count + 1 : 1
    const blockMs = Math.min(DAY_MS, duration * 1_000 * 2 ** Math.min(count - 1, 30))
    this.adopt(key, blockMs, count)
    return { leftMs: blockMs, blocks: count }
  }

  /** Takes over a block, of another node or of this one. `key` is the address as `ipKey` writes it. */
  adopt(key: string, leftMs: number, count: number): void {
    const before = this.#blocks.get(key)
    const untilMs = this.#clock.monotonic() + leftMs
    this.#failures.delete(key)
    this.#blocks.delete(key)
    this.#blocks.set(key, { untilMs: Math.max(untilMs, before?.untilMs ?? 0), count: Math.max(count, before?.count ?? 0) })
    dropOldest(this.#blocks, this.#ipsMax)
  }

  /** Addresses that are blocked now, IPv6 by their /64. */
  blocks(): readonly { readonly ip: string; readonly untilMs: number; readonly times: number }[] {
    const nowMs = this.#clock.monotonic()
    return [...this.#blocks].filter(([, { untilMs }]) => untilMs > nowMs).map(([ip, { untilMs, count }]) => ({ ip, untilMs: this.#clock.now() + untilMs - nowMs, times: count }))
  }

  /** The name that an address has here; one that is listed as blocked is a name already. */
  keyOf(ip: string): string {
    return this.#blocks.has(ip) ? ip : ipKey(ip)
  }

  /** false = the address was not blocked. `key` is the address as `ipKey` writes it. */
  unblock(key: string): boolean {
    this.#failures.delete(key)
    return this.#blocks.delete(key)
  }

  /** Remembers that a key worked from an address, so that a neighbour's block does not stop it. */
  prove(ip: string, digest: string): void {
    const pair = `${ipKey(ip)} ${digest}`
    this.#proven.delete(pair)
    this.#proven.set(pair, this.#clock.monotonic())
    dropOldest(this.#proven, PROVEN_MAX)
  }

  isProven(ip: string, digest: string): boolean {
    const provenAtMs = this.#proven.get(`${ipKey(ip)} ${digest}`)
    return provenAtMs !== undefined && this.#clock.monotonic() - provenAtMs < DAY_MS
  }

  /** The X-RateLimit-* headers of one more response without an account. */
  headers(ip: string): Readonly<Record<string, string>> {
    const log = touched(this.#anonymous, ipKey(ip), this.#ipsMax, newWindow)
    return rateHeaders(log.take(ANONYMOUS_REQUESTS, ANONYMOUS_WINDOW_MS, this.#clock.monotonic(), this.#clock.now()))
  }
}

function newWindow(): SlidingWindow {
  return new SlidingWindow()
}

/** The value of `key`, made when absent, moved to the young end of a map that is bounded by dropping its oldest. */
function touched<V>(map: Map<string, V>, key: string, entriesMax: number, make: () => V): V {
  const value = map.get(key) ?? make()
  map.delete(key)
  map.set(key, value)
  dropOldest(map, entriesMax)
  return value
}

function dropOldest(map: Map<string, unknown>, entriesMax: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= entriesMax) return
    map.delete(oldest)
  }
}
