import type {
  SharedFailure,
  SharedGuard,
  SharedKeyLimits,
  SharedLimitsTake,
  SharedLimitsTaken,
  SharedPast,
  SharedTake,
  SharedTaken,
  SharedWindows,
} from '../../access/shared-access.ts'
import { fieldsOf } from '../../base/json-text.ts'
import { DAY_MS } from '../../base/time.ts'
import type { SharedToken, SharedTokens } from '../shared.ts'
import { type Argument, type ValkeyPorts, script } from './client.ts'

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
  readonly #ports: ValkeyPorts

  constructor(ports: ValkeyPorts) {
    this.#ports = ports
  }

  get available(): boolean {
    return this.#ports.valkey.available
  }

  async tell({ accountId, windowMs, earlier }: SharedPast): Promise<boolean> {
    return (await this.#ports.valkey.run(TELL, [rateKey(accountId)], [windowMs, ...this.#named(earlier)])) === 1
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
    const answer = await this.#ports.valkey.run(TAKE, [rateKey(accountId)], values)
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
    return `${this.#ports.node}:${timeMs}`
  }
}

function rateKey(accountId: string): string {
  return `tollgate:rate:{${accountId}}`
}

/** Tokens of providers, encrypted. */
export class ValkeyTokens implements SharedTokens {
  readonly #ports: ValkeyPorts

  constructor(ports: ValkeyPorts) {
    this.#ports = ports
  }

  async read(print: string): Promise<SharedToken | null> {
    for (const key of this.#keys(print)) {
      const encrypted = await this.#ports.valkey.bytesOf(key)
      const plain = encrypted === null ? null : this.#ports.cipher.decrypt(encrypted, purposeOf(print))
      // Written by `write`, and authenticated.
      const { value, gotAtMs, endsAtMs } =
        plain === null ? {} : (fieldsOf(JSON.parse(plain.toString())) as Partial<SharedToken>)
      if (value !== undefined && gotAtMs !== undefined && endsAtMs !== undefined) return { value, gotAtMs, endsAtMs }
    }
    return null
  }

  async write(print: string, token: SharedToken): Promise<void> {
    const [key = ''] = this.#keys(print)
    const lifeMs = Math.floor(token.endsAtMs - token.gotAtMs)
    const encrypted = this.#ports.cipher.encrypt(Buffer.from(JSON.stringify(token)), purposeOf(print))
    if (lifeMs > 0) await this.#ports.valkey.command('SET', [key, encrypted, 'PX', lifeMs])
  }

  #keys(print: string): readonly string[] {
    return this.#ports.cipher.names(purposeOf(print)).map((name) => `tollgate:token:${name}`)
  }
}

function purposeOf(print: string): string {
  return `token ${print}`
}

const LEASE_MS = 60_000
/** Numbers that the script returns for each window. */
const STATE_LENGTH = 5

/**
 * Counts a request in all windows of its key, or in none. Each window is a hash of the requests (`r`) and tokens (`t`)
 * of a second, by Valkey's clock; running requests are members with the end of their lease. Returns: allowed, the
 * second, running requests, then for each window its requests, tokens, the waiting times for both, and the time until
 * its oldest second leaves.
 */
const TAKE_KEY = script(`
local time = redis.call('TIME')
local now = tonumber(time[1])
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local windows, running, lease, member = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local length = tonumber(ARGV[5])
local answer = { 1, now, 0 }
local function wait(counts, most, needed)
  local used = 0
  for _, count in pairs(counts) do used = used + count end
  if most < 0 or used + needed <= most then return used, 0 end
  local left = used
  for second = now - length + 1, now do
    left = left - (counts[second] or 0)
    if left + needed <= most then return used, second + length - now end
  end
  return used, length
end
for window = 1, windows do
  local at = 6 + (window - 1) * 3
  local entries = redis.call('HGETALL', KEYS[window + 1])
  local counts, oldest = { r = {}, t = {} }, nil
  for index = 1, #entries, 2 do
    local kind, second = string.sub(entries[index], 1, 1), tonumber(string.sub(entries[index], 2))
    if second == nil or counts[kind] == nil or second + length <= now or second > now then
      redis.call('HDEL', KEYS[window + 1], entries[index])
    else
      counts[kind][second] = tonumber(entries[index + 1]) or 0
      if oldest == nil or second < oldest then oldest = second end
    end
  end
  local requests, requestsWait = wait(counts.r, tonumber(ARGV[at]), 1)
  local tokens, tokensWait = wait(counts.t, tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]))
  if requestsWait > 0 or tokensWait > 0 then answer[1] = 0 end
  for _, number in ipairs({ requests, tokens, requestsWait, tokensWait, oldest and oldest + length - now or 0 }) do
    answer[#answer + 1] = number
  end
end
if running >= 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', nowMs)
  answer[3] = redis.call('ZCARD', KEYS[1])
  if answer[3] >= running then answer[1] = 0 end
end
if answer[1] == 1 then
  for window = 1, windows do
    local key = KEYS[window + 1]
    redis.call('HINCRBY', key, 'r' .. now, 1)
    redis.call('HINCRBY', key, 't' .. now, ARGV[6 + (window - 1) * 3 + 2])
    redis.call('EXPIRE', key, length)
  end
  if running >= 0 then
    redis.call('ZADD', KEYS[1], nowMs + lease, member)
    redis.call('PEXPIRE', KEYS[1], lease)
  end
end
return answer`)

/** Corrects the tokens of a second while the second still counts. */
const CORRECT = script(`
if redis.call('HEXISTS', KEYS[1], 't' .. ARGV[1]) == 1 then
  redis.call('HINCRBY', KEYS[1], 't' .. ARGV[1], ARGV[2])
end
return 1`)

const RENEW = script(`
local time = redis.call('TIME')
local untilMs = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
for index = 2, #ARGV do redis.call('ZADD', KEYS[1], untilMs, ARGV[index]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`)

/** Limits of keys over all nodes. The braces put all data of a key into one slot. */
export class ValkeyKeyLimits implements SharedKeyLimits {
  readonly #ports: ValkeyPorts

  constructor(ports: ValkeyPorts) {
    this.#ports = ports
  }

  get available(): boolean {
    return this.#ports.valkey.available
  }

  async take({ keyId, windows, runningMost, member, seconds }: SharedLimitsTake): Promise<SharedLimitsTaken | null> {
    const keys = [runningKey(keyId), ...windows.map(({ name }) => windowKey(keyId, name))]
    const values: readonly Argument[] = [
      windows.length,
      runningMost ?? -1,
      LEASE_MS,
      this.#name(member),
      seconds,
      ...windows.flatMap(({ requestsMost, tokensMost, tokens }) => [requestsMost ?? -1, tokensMost ?? -1, tokens]),
    ]
    const answer = await this.#ports.valkey.run(TAKE_KEY, keys, values)
    const numbers = Array.isArray(answer) ? answer.map(Number) : []
    // Others may have written the data: a value that is not a number counts as no answer.
    if (numbers.length !== 3 + windows.length * STATE_LENGTH || !numbers.every(Number.isFinite)) return null
    const [allowed = 0, second = 0, running = 0, ...rest] = numbers
    return {
      allowed: allowed === 1,
      second,
      running,
      windows: windows.map((_, index) => stateOf(rest.slice(index * STATE_LENGTH), seconds)),
    }
  }

  async correct(keyId: string, window: string, second: number, tokens: number): Promise<void> {
    await this.#ports.valkey.run(CORRECT, [windowKey(keyId, window)], [second, tokens])
  }

  async leave(keyId: string, member: string): Promise<void> {
    await this.#ports.valkey.command('ZREM', [runningKey(keyId), this.#name(member)])
  }

  async renew(keyId: string, members: readonly string[]): Promise<void> {
    await this.#ports.valkey.run(RENEW, [runningKey(keyId)], [LEASE_MS, ...members.map((member) => this.#name(member))])
  }

  #name(member: string): string {
    return `${this.#ports.node}:${member}`
  }
}

function stateOf(
  [requests = 0, tokens = 0, ...waits]: readonly number[],
  most: number,
): SharedLimitsTaken['windows'][number] {
  const [requestsWait = 0, tokensWait = 0, resetSeconds = 0] = waits.map((seconds) =>
    Math.min(Math.max(0, seconds), most),
  )
  return { requests, tokens, requestsWait, tokensWait, resetSeconds }
}

function windowKey(keyId: string, name: string): string {
  return `tollgate:key:{${keyId}}:minute:${name}`
}

function runningKey(keyId: string): string {
  return `tollgate:key:{${keyId}}:running`
}

/**
 * Returns whether the address was already blocked, for how many ms it is blocked now, and its number of consecutive
 * blocks, each within a day of the last.
 */
const FAIL = script(`
local left = redis.call('PTTL', KEYS[2])
if left > 0 then return { 1, left, tonumber(redis.call('GET', KEYS[2])) } end
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local failures, window, duration, day = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
redis.call('ZADD', KEYS[1], now, now .. ':' .. redis.call('ZCARD', KEYS[1]))
if redis.call('ZCARD', KEYS[1]) < failures then
  redis.call('PEXPIRE', KEYS[1], window)
  return { 0, 0, 0 }
end
redis.call('DEL', KEYS[1])
local blocks = redis.call('INCR', KEYS[3])
left = math.min(day, duration * 2 ^ math.min(blocks - 1, 30))
redis.call('SET', KEYS[2], blocks, 'PX', left)
redis.call('PEXPIRE', KEYS[3], left + day)
return { 0, left, blocks }`)

const BLOCKED = script(`
local left = redis.call('PTTL', KEYS[1])
if left <= 0 then return { 0, 0 } end
return { left, tonumber(redis.call('GET', KEYS[1])) }`)

/** Address blocks that are exact over all nodes. The braces put all keys of an address into one slot. */
export class ValkeyGuard implements SharedGuard {
  readonly #ports: ValkeyPorts

  constructor(ports: ValkeyPorts) {
    this.#ports = ports
  }

  get available(): boolean {
    return this.#ports.valkey.available
  }

  async fail(
    ip: string,
    { failures, windowMs, durationMs }: Parameters<SharedGuard['fail']>[1],
  ): Promise<SharedFailure | null> {
    const answer = await this.#ports.valkey.run(FAIL, keysOf(ip), [failures, windowMs, durationMs, DAY_MS])
    const [was, leftMs, blocks] = numbersOf(answer, 3)
    return was === undefined || leftMs === undefined || blocks === undefined
      ? null
      : { wasBlocked: was === 1, leftMs: Math.min(leftMs, DAY_MS), blocks }
  }

  async blocked(ip: string): Promise<Omit<SharedFailure, 'wasBlocked'> | null> {
    const answer = await this.#ports.valkey.run(BLOCKED, [`tollgate:block:{${ip}}`], [])
    const [leftMs, blocks] = numbersOf(answer, 2)
    return leftMs === undefined || blocks === undefined ? null : { leftMs: Math.min(leftMs, DAY_MS), blocks }
  }

  async unblock(ip: string): Promise<void> {
    await this.#ports.valkey.command('DEL', keysOf(ip))
  }

  /** The fact is stored encrypted, since it admits a key from a blocked address. */
  prove(ip: string, digest: string): void {
    const [key] = this.#proofKeys(ip, digest)
    // If it cannot be stored, only the guard of the node on which the key worked knows it.
    void this.#ports.valkey.command('SET', [
      key,
      this.#ports.cipher.encrypt(Buffer.from(String(this.#ports.clock.now() + DAY_MS)), proofPurpose(ip, digest)),
      'PX',
      DAY_MS,
    ])
  }

  async isProven(ip: string, digest: string): Promise<boolean> {
    for (const key of this.#proofKeys(ip, digest)) {
      const found = await this.#ports.valkey.command('GET', [key])
      const untilMs = Buffer.isBuffer(found)
        ? Number(this.#ports.cipher.decrypt(found, proofPurpose(ip, digest))?.toString() ?? 0)
        : 0
      if (untilMs > this.#ports.clock.now()) return true
    }
    return false
  }

  #proofKeys(ip: string, digest: string): readonly [string, ...string[]] {
    const [first, ...rest] = this.#ports.cipher
      .names(proofPurpose(ip, digest))
      .map((name) => `tollgate:proof:{${ip}}:${name}`)
    return [first ?? '', ...rest]
  }
}

/** Others may have written the script's data, so no number beyond what the rules allow is accepted. */
function numbersOf(answer: unknown, count: number): readonly number[] {
  const numbers = Array.isArray(answer) ? answer.map(Number) : []
  return numbers.length === count && numbers.every((number) => Number.isFinite(number) && number >= 0) ? numbers : []
}

function keysOf(ip: string): string[] {
  return ['failures', 'block', 'blocks'].map((name) => `tollgate:${name}:{${ip}}`)
}

function proofPurpose(ip: string, digest: string): string {
  return `proven ${ip} ${digest}`
}
