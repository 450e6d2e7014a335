import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp, type App, type AppLog } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { ApiClient, auditClean } from './api-client.ts'
import { endsLater, lasting } from './lasting.ts'
import { movingClock, type MovingClock } from './moving-clock.ts'
import { paced } from './patience.ts'

export type { Answer } from './api-client.ts'

export interface GatewayOptions {
  /** Applied like the file of `TOLLGATE_CONFIG`; without it the server has the bundled catalogue. */
  readonly catalog?: string
  /** Settings in addition to those of every test. Servers on one database have the same token and key. */
  readonly env?: Readonly<Record<string, string>>
  readonly consoleDir?: string
  /** A store that outlives the server, for example for a restart. */
  readonly dataDir?: string
}

/** What a server has logged. */
class Log implements AppLog {
  /** In the form in which the program writes them. */
  readonly lines: string[] = []
  /** Messages to the operator, errors of bugs included. */
  readonly notices: string[] = []
  readonly bugs: string[] = []

  line(fields: Readonly<Record<string, unknown>>): void {
    this.lines.push(JSON.stringify(fields))
  }

  notice(message: string): void {
    this.notices.push(message)
    this.lines.push(JSON.stringify({ message }))
  }

  bug(thrown: unknown, requestId: string): void {
    const bug = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
    this.bugs.push(bug)
    this.notices.push(`bug: ${bug}`)
    this.lines.push(JSON.stringify({ request_id: requestId, bug }))
  }
}

interface Opened {
  readonly app: App
  readonly url: string
  readonly adminToken: string
  readonly dataDir: string
  readonly ownsData: boolean
  readonly log: Log
}

/** The whole server in the process of the test, on a free port, with a fresh embedded store. */
export class Gateway extends ApiClient {
  readonly app: App
  readonly dataDir: string
  readonly #log: Log
  readonly #ownsData: boolean
  #stopped = false

  constructor({ app, url, adminToken, dataDir, ownsData, log }: Opened) {
    super(url, adminToken)
    this.app = app
    this.dataDir = dataDir
    this.#log = log
    this.#ownsData = ownsData
    if (ownsData) endsLater(() => this.stop())
  }

  /** Lines of the log so far. */
  logs(): readonly string[] {
    return this.#log.lines
  }

  /** Messages to the operator so far, errors of bugs included. */
  get notices(): readonly string[] {
    return this.#log.notices
  }

  /** Bugs that requests have met so far, with their stacks. */
  bugs(): readonly string[] {
    return this.#log.bugs
  }

  /** Audits its books, and asserts that no request of the test met a bug. */
  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    try {
      await auditClean(this)
      assert.deepEqual(this.bugs(), [])
    } finally {
      await this.app.stop()
      if (this.#ownsData) rmSync(this.dataDir, { recursive: true, force: true })
    }
  }
}

/** A moving server's clock also advances by itself, so that short delays of the server end. */
const STEP_MS = 5

/** The same with a clock that the test advances. Every time limit uses it; sockets and the store are real. */
export class MovingGateway extends Gateway {
  readonly clock: MovingClock
  readonly #ticking: NodeJS.Timeout

  constructor(opened: Opened, clock: MovingClock) {
    super(opened)
    this.clock = clock
    this.#ticking = setInterval(() => clock.advance(STEP_MS), STEP_MS)
  }

  /**
   * Advances the clock second by second, with a short pause after each for sockets and the disk, which use real time.
   */
  async pass(seconds: number, momentMs = 2): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      this.clock.advance(1_000)
      await paced(momentMs, 'sockets and the disk know real time only')
    }
  }

  override async stop(): Promise<void> {
    await super.stop().finally(() => clearInterval(this.#ticking))
  }
}

/**
 * A server for tests that need no process: it starts in a tenth of the time of `startTollgate`. Without a
 * `dataDir` it stops after the tests of the file, suite or test that starts it.
 */
export async function gateway(options: GatewayOptions = {}): Promise<Gateway> {
  return new Gateway(await opened(options))
}

/** `startUnixMs`: the time at which its clock begins. */
export async function movingGateway({
  startUnixMs,
  ...options
}: GatewayOptions & { readonly startUnixMs?: number } = {}): Promise<MovingGateway> {
  const clock = movingClock(startUnixMs)
  return new MovingGateway(await opened(options, clock), clock)
}

async function opened(
  { catalog, env: more = {}, consoleDir, dataDir: kept }: GatewayOptions,
  clock?: MovingClock,
): Promise<Opened> {
  const dataDir = kept ?? mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  const adminToken = more['TOLLGATE_ADMIN_TOKEN'] ?? randomBytes(24).toString('hex')
  const env = { TOLLGATE_DATA: dataDir, TOLLGATE_ADMIN_TOKEN: adminToken, ...more }
  const { config, problems } = readConfig(env)
  assert.deepEqual(problems, [])
  const log = new Log()
  const app = await createApp({
    config,
    version: '0.0.0',
    wrappingKeys: config.kek ?? [randomBytes(32)],
    env,
    log,
    ...(clock === undefined ? {} : { clock }),
    ...(consoleDir === undefined ? {} : { consoleDir }),
  })
  if (catalog !== undefined)
    await app.catalog.applyText(catalog, { dryRun: false, onlyNew: true, file: join(dataDir, 'test-catalogue.yaml') })
  const { address, port } = await app.edge.listen('127.0.0.1', 0)
  return { app, url: `http://${address}:${port}`, adminToken, dataDir, ownsData: kept === undefined, log }
}

type Account = Awaited<ReturnType<Gateway['createAccount']>>

interface Served<Upstream> {
  readonly upstream: Upstream
  readonly tollgate: Gateway
  readonly account: Account
  /** The account's key. */
  readonly key: string
}

/** A server in the process of the test, with one upstream and one customer, whose `balance` is in RUB. */
export async function serve<Upstream extends { close(): unknown } | null>(
  start: () => Promise<Upstream>,
  catalog: (upstream: Upstream) => string,
  balance = 1_000,
): Promise<Served<Upstream>> {
  const upstream = await lasting(start())
  const tollgate = await gateway({ catalog: catalog(upstream) })
  const account = await tollgate.createAccount({ balance })
  return { upstream, tollgate, account, key: account.key }
}

/** The same with the sandbox as its only provider. */
export function serveSandbox(catalog = '', balance = 1_000): Promise<Served<null>> {
  return serve(
    async () => null,
    () => catalog,
    balance,
  )
}
