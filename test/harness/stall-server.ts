import assert from 'node:assert/strict'
import { join } from 'node:path'
import { request } from 'undici'
import type { Answer, RequestOptions } from './api-client.ts'
import { slowness, STALL_MS_MAX } from './patience.ts'
import { startTollgate, type Tollgate } from './server.ts'

const PROBE = join(import.meta.dirname, 'stall-probe.ts')
/**
 * A measurement that is over the bound is made again: a collection of garbage, or the other thread of a busy core, may
 * have been in it.
 */
const TRIES = 5

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

  /** Sends a request, asserts that no other request had to wait for it, and returns its answer. */
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
      const took = await this.#look()
      if (took <= STALL_MS_MAX) return result
      const slow = slowness()
      best = Math.min(best, took / slow)
      if (best <= STALL_MS_MAX) return result
      assert.ok(tried < TRIES, `${what}: ${took.toFixed(0)} ms on a core ${slow.toFixed(2)} times as slow`)
    }
  }

  async #look(): Promise<number> {
    return Number(await (await request(this.#probe)).body.text())
  }
}

/** `dataDir`: a store that was filled for it, and whose rows are no books. */
export async function startStallServer(catalog: string, dataDir?: string): Promise<StallServer> {
  const server = await startTollgate({
    catalog,
    env: { NODE_OPTIONS: `--import ${PROBE}` },
    ...(dataDir === undefined ? {} : { dataDir, audited: false }),
  })
  const port = /stall probe on (\d+)/.exec(server.errors())?.[1]
  assert.ok(port !== undefined, server.errors())
  return new StallServer(server, `http://127.0.0.1:${port}/`)
}
