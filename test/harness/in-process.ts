import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp, type App, type AppLog } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { ApiClient } from './api-client.ts'
import { auditClean } from './audit.ts'

export type { Answer } from './api-client.ts'

export interface InProcessOptions {
  /** Applied like the file of `TOLLGATE_CONFIG`; without it the server has the bundled catalogue. */
  readonly catalog?: string
  readonly env?: Readonly<Record<string, string>>
  readonly consoleDir?: string
  /** A store that the test keeps, for example over a restart. */
  readonly dataDir?: string
}

/** Lines as the program writes them. */
class LogLines implements AppLog {
  readonly lines: string[] = []
  readonly bugs: string[] = []

  line(fields: Readonly<Record<string, unknown>>): void {
    this.lines.push(JSON.stringify(fields))
  }

  notice(message: string): void {
    this.lines.push(JSON.stringify({ message }))
  }

  bug(thrown: unknown, requestId: string): void {
    const bug = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
    this.bugs.push(bug)
    this.lines.push(JSON.stringify({ request_id: requestId, bug }))
  }
}

/** The whole server in the process of the test, on a free port, with the machine's clock and a fresh embedded store. */
export class InProcessServer extends ApiClient {
  readonly app: App
  readonly dataDir: string
  readonly #log: LogLines
  readonly #ownsData: boolean

  constructor(
    app: App,
    url: string,
    adminToken: string,
    { dataDir, ownsData }: { readonly dataDir: string; readonly ownsData: boolean },
    log: LogLines,
  ) {
    super(url, adminToken)
    this.app = app
    this.dataDir = dataDir
    this.#log = log
    this.#ownsData = ownsData
  }

  /** Lines of the log so far. */
  logs(): readonly string[] {
    return this.#log.lines
  }

  /** Errors of ours that requests have met so far, with their stacks. */
  bugs(): readonly string[] {
    return this.#log.bugs
  }

  /** Audits its books, and asserts that no request of the test met a bug. */
  async stop(): Promise<void> {
    try {
      await auditClean(this)
      assert.deepEqual(this.bugs(), [])
    } finally {
      await this.app.stop()
      if (this.#ownsData) rmSync(this.dataDir, { recursive: true, force: true })
    }
  }
}

/** A server for tests that need no process: it starts in a tenth of the time of `startTollgate`. */
export async function startInProcess({
  catalog,
  env: more = {},
  consoleDir,
  dataDir: kept,
}: InProcessOptions = {}): Promise<InProcessServer> {
  const dataDir = kept ?? mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  const adminToken = more['TOLLGATE_ADMIN_TOKEN'] ?? randomBytes(24).toString('hex')
  const env = { TOLLGATE_DATA: dataDir, TOLLGATE_ADMIN_TOKEN: adminToken, ...more }
  const { config, problems } = readConfig(env)
  assert.deepEqual(problems, [])
  const log = new LogLines()
  const app = await createApp({
    config,
    version: '0.0.0',
    wrappingKeys: config.kek ?? [randomBytes(32)],
    env,
    log,
    ...(consoleDir === undefined ? {} : { consoleDir }),
  })
  if (catalog !== undefined)
    await app.catalog.applyText(catalog, { dryRun: false, onlyNew: true, file: join(dataDir, 'test-catalogue.yaml') })
  const { address, port } = await app.edge.listen('127.0.0.1', 0)
  return new InProcessServer(
    app,
    `http://${address}:${port}`,
    adminToken,
    { dataDir, ownsData: kept === undefined },
    log,
  )
}
