import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp, type App } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { ApiClient } from './api-client.ts'
import { auditClean } from './audit.ts'
import { movingClock, type MovingClock } from './moving-clock.ts'
import { paced } from './paced.ts'

/** The clock also moves by itself, so that short delays of the server end. */
const STEP_MS = 5

/**
 * The whole server in this process, on a free port and with a fresh embedded store, with a clock that the test can move
 * ahead.
 */
export class MovingServer extends ApiClient {
  /** Every time limit of the server follows it; sockets and the store are real. */
  readonly clock: MovingClock
  /** Messages to the operator, bugs included. */
  readonly notices: readonly string[]
  readonly app: App
  readonly #dataDir: string
  readonly #ticking: NodeJS.Timeout

  constructor(
    app: App,
    address: { readonly address: string; readonly port: number },
    adminToken: string,
    clock: MovingClock,
    notices: readonly string[],
    dataDir: string,
  ) {
    super(`http://${address.address}:${address.port}`, adminToken)
    this.app = app
    this.clock = clock
    this.notices = notices
    this.#dataDir = dataDir
    this.#ticking = setInterval(() => clock.advance(STEP_MS), STEP_MS)
  }

  /**
   * Advances the clock by so many seconds, one by one; sockets and the disk, which follow real time, get a moment after
   * each.
   */
  async pass(seconds: number, momentMs = 2): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      this.clock.advance(1_000)
      await paced(momentMs, 'sockets and the disk know real time only')
    }
  }

  async stop(): Promise<void> {
    try {
      await auditClean(this)
    } finally {
      await this.app.stop()
      clearInterval(this.#ticking)
      rmSync(this.#dataDir, { recursive: true, force: true })
    }
  }
}

export interface MovingOptions {
  /** The first time of the clock; Unix ms. */
  readonly startUnixMs?: number
  readonly consoleDir?: string
  /** Settings of the process beside those of every test. Servers on one database have the same token and key. */
  readonly env?: Readonly<Record<string, string>>
}

export async function startMovingServer(
  catalog: string,
  { startUnixMs, consoleDir, env: more = {} }: MovingOptions = {},
): Promise<MovingServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  const { TOLLGATE_ADMIN_TOKEN: adminToken = randomBytes(24).toString('hex'), TOLLGATE_KEK: kek } = more
  const env = { TOLLGATE_DATA: dataDir, TOLLGATE_ADMIN_TOKEN: adminToken, ...more }
  const { config, problems } = readConfig(env)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const clock = movingClock(startUnixMs)
  const notices: string[] = []
  const log = {
    line: () => undefined,
    // A provider's words arrive here too, as text.
    bug: (thrown: unknown) => {
      if (thrown instanceof Error) notices.push(`bug: ${thrown.stack ?? thrown.message}`)
    },
    notice: (message: string) => notices.push(message),
  }
  const app = await createApp({
    config,
    version: '0.0.0',
    wrappingKeys: [kek === undefined ? randomBytes(32) : Buffer.from(kek, 'base64')],
    env,
    log,
    clock,
    ...(consoleDir === undefined ? {} : { consoleDir }),
  })
  await app.catalog.applyText(catalog, { dryRun: false, onlyNew: true, file: 'test' })
  return new MovingServer(app, await app.edge.listen('127.0.0.1', 0), adminToken, clock, notices, dataDir)
}
