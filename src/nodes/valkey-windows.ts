import type { SharedPast, SharedTake, SharedTaken, SharedWindows } from '../access/shared-access.ts'
import { script, type Argument, type Valkey } from './valkey.ts'

/**
 * A sliding log of accepted requests, by Valkey's clock. Returns -1 when the witness is missing, which means that
 * Valkey has lost entries; else: allowed, used, and the ms until the oldest leaves and until there is room.
 */
const TAKE = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local limit, window, member, witness = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
if witness ~= '' and not redis.call('ZSCORE', KEYS[1], witness) then return { -1 } end
for index = 5, #ARGV, 2 do redis.call('ZADD', KEYS[1], 'NX', now - tonumber(ARGV[index + 1]), ARGV[index]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local used = redis.call('ZCARD', KEYS[1])
local allowed = 0
if used < limit then
  redis.call('ZADD', KEYS[1], now, member)
  used = used + 1
  allowed = 1
end
redis.call('PEXPIRE', KEYS[1], window)
local function left(rank)
  local entry = redis.call('ZRANGE', KEYS[1], rank, rank, 'WITHSCORES')
  return entry[2] and math.ceil(entry[2] + window - now) or window
end
return { allowed, used, left(0), allowed == 1 and 0 or left(math.max(0, used - limit)) }`)

const TELL = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
for index = 2, #ARGV, 2 do redis.call('ZADD', KEYS[1], 'NX', now - tonumber(ARGV[index + 1]), ARGV[index]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`)

/** Rate windows that are exact over all nodes. */
export class ValkeyWindows implements SharedWindows {
  readonly #valkey: Valkey
  readonly #node: string

  constructor(valkey: Valkey, node: string) {
    this.#valkey = valkey
    this.#node = node
  }

  get available(): boolean {
    return this.#valkey.available
  }

  async tell({ accountId, windowMs, earlier }: SharedPast): Promise<boolean> {
    return (await this.#valkey.run(TELL, [rateKey(accountId)], [windowMs, ...this.#named(earlier)])) === 1
  }

  async take(request: SharedTake): Promise<SharedTaken | 'lost' | null> {
    const { accountId, requests, windowMs, timeMs, witness, earlier } = request
    const values = [
      requests,
      windowMs,
      this.#name(timeMs),
      witness === null ? '' : this.#name(witness),
      ...this.#named(earlier),
    ]
    const answer = await this.#valkey.run(TAKE, [rateKey(accountId)], values)
    if (!Array.isArray(answer)) return null
    const numbers = answer.map(Number)
    const [allowed = 0, used = 0, oldestLeftMs = 0, slotLeftMs = 0] = numbers
    if (allowed === -1) return 'lost'
    // Others may have written the log: no wait exceeds the window, and a value that is not a number counts as no
    // answer.
    if (!numbers.every(Number.isFinite)) return null
    const within = (ms: number): number => Math.min(Math.max(0, ms), windowMs)
    return { allowed: allowed === 1, used, oldestLeftMs: within(oldestLeftMs), slotLeftMs: within(slotLeftMs) }
  }

  #named(earlier: SharedTake['earlier']): readonly Argument[] {
    return earlier.flatMap(({ timeMs, ageMs }) => [this.#name(timeMs), ageMs])
  }

  #name(timeMs: number): string {
    return `${this.#node}:${timeMs}`
  }
}

function rateKey(accountId: string): string {
  return `tollgate:rate:{${accountId}}`
}
