import type { SharedFailure, SharedGuard } from '../../access/shared-access.ts'
import { script, type ValkeyPorts } from './client.ts'
import { DAY_MS } from '../../base/time.ts'

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
