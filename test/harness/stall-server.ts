import assert from 'node:assert/strict'
import { join } from 'node:path'
import { request } from 'undici'
import type { Answer, RequestOptions } from './api-client.ts'
import { isNoStall } from './patience.ts'
import { startTollgate, type Tollgate } from './server.ts'

const PROBE = join(import.meta.dirname, 'stall-probe.ts')

/** A server whose main thread is watched for stalls. */
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

  /** Sends a request, asserts that it did not block other requests, and returns its answer. */
  async checked(what: string, method: string, path: string, options: RequestOptions): Promise<Answer> {
    const answer = await this.watched(what, () => this.server.request(method, path, options))
    assert.ok(answer.status !== 500, `${what}: ${answer.text.slice(0, 300)}`)
    return answer
  }

  /** The same for any work, by the longest CPU time that the server's main thread used without a pause. */
  async watched<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    for (let tried = 1; ; tried += 1) {
      await this.#look()
      const result = await work()
      if (isNoStall(what, await this.#look(), tried)) return result
    }
  }

  async #look(): Promise<number> {
    return Number(await (await request(this.#probe)).body.text())
  }
}

/** `dataDir`: a store that the test filled, whose rows are not valid books. */
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
