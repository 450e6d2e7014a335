import assert from 'node:assert/strict'
import { join } from 'node:path'
import { request } from 'undici'
import type { Answer, RequestOptions } from './api-client.ts'
import { STALL_MS_MAX } from './patience.ts'
import { startTollgate, type Tollgate } from './server.ts'

const PROBE = join(import.meta.dirname, 'stall-probe.ts')
/**
 * A measurement that is over the bound is made again: a collection of garbage, or the other thread of a busy core, may
 * have been in it.
 */
const TRIES = 3

/** A server whose main thread is watched. */
export class StallServer {
  readonly server: Tollgate
  readonly #probe: string

  constructor(server: Tollgate, probe: string) {
    this.server = server
    this.#probe = probe
  }

  stop(): Promise<void> {
    return this.server.stop()
  }

  /** Asks, asserts that nobody else had to wait for it, and answers what was answered. */
  async checked(what: string, method: string, path: string, options: RequestOptions): Promise<Answer> {
    const answer = await this.watched(what, () => this.server.request(method, path, options))
    assert.ok(answer.status !== 500, `${what}: ${answer.text.slice(0, 300)}`)
    return answer
  }

  /**
   * The most CPU of the server's main thread at a stretch while something goes on, of the best of some tries where it
   * is too much.
   */
  async watched<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    let best = Number.POSITIVE_INFINITY
    for (let tried = 1; ; tried += 1) {
      await this.#look()
      const result = await work()
      best = Math.min(best, await this.#look())
      if (best <= STALL_MS_MAX) return result
      assert.ok(tried < TRIES, `${what}: ${best.toFixed(0)} ms`)
    }
  }

  async #look(): Promise<number> {
    return Number(await (await request(this.#probe)).body.text())
  }
}

export async function startStallServer(catalog: string, env: Record<string, string> = {}): Promise<StallServer> {
  const server = await startTollgate({ catalog, env: { ...env, NODE_OPTIONS: `--import ${PROBE}` } })
  const port = /stall probe on (\d+)/.exec(server.errors())?.[1]
  assert.ok(port !== undefined, server.errors())
  return new StallServer(server, `http://127.0.0.1:${port}/`)
}
