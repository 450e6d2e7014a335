import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { program } from '../../bin/program.js'
import { patient } from './patience.ts'
import { stopped } from './program.ts'
import { ApiClient, auditClean } from './api-client.ts'

export type { Answer } from './api-client.ts'

/** The bundle that the runner builds, or the sources if they are newer or their coverage is measured. */
export const MAIN =
  process.env['NODE_V8_COVERAGE'] === undefined ? program() : join(import.meta.dirname, '../../src/main.ts')
/**
 * Environment of the process: as with bin/tollgate.js, compiled code is cached between starts, except for coverage,
 * which needs code that is compiled anew.
 */
export const COMPILED: Readonly<Record<string, string>> =
  process.env['NODE_V8_COVERAGE'] === undefined
    ? { NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/compiled') }
    : {}
const READY_MS = 60_000
const LOG_CHARS_MAX = 67_108_864
/** The pause between two signals, so that they are not counted as one. */
const SIGNAL_MS = 350

export interface Tollgate extends ApiClient {
  readonly pid: number
  readonly dataDir: string
  /** null while it runs, and if a signal ended it. */
  readonly exitCode: number | null
  readonly runs: boolean
  /** Lines of standard output so far. */
  logs(): string[]
  errors(): string
  /** Sends the signal and waits for the process to end. */
  kill(signal: NodeJS.Signals): Promise<void>
  stop(): Promise<void>
}

/**
 * A real server in a separate process, on a free port, with the embedded store in a new directory unless one is given.
 * `command`: a command to run it with, such as `prlimit`; `main`: the program of another folder. Its books are audited
 * when it is stopped; `audited: false` if they are broken on purpose, or audited elsewhere.
 */
export async function startTollgate(
  options: {
    audited?: boolean
    catalog?: string
    env?: Record<string, string>
    dataDir?: string
    command?: readonly string[]
    main?: string
  } = {},
): Promise<Tollgate> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  const adminToken = options.env?.['TOLLGATE_ADMIN_TOKEN'] ?? randomBytes(24).toString('hex')
  const config = join(dataDir, 'test-catalogue.yaml')
  if (options.catalog !== undefined) writeFileSync(config, options.catalog)
  const env: Record<string, string> = {
    PATH: process.env['PATH'] ?? '',
    HOST: '127.0.0.1',
    PORT: '0',
    TOLLGATE_DATA: dataDir,
    TOLLGATE_ADMIN_TOKEN: adminToken,
    ...COMPILED,
    // The coverage of a server counts for its test.
    ...(process.env['NODE_V8_COVERAGE'] === undefined ? {} : { NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'] }),
    ...(options.catalog === undefined ? {} : { TOLLGATE_CONFIG: config }),
    ...options.env,
  }
  const [program, ...words] = [...(options.command ?? []), process.execPath, options.main ?? MAIN, 'start'] as const
  const child = spawn(program, words, { cwd: dataDir, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { text: '', errors: '' }
  child.stderr.on('data', (chunk: Buffer) => {
    output.errors += chunk.toString()
  })
  const url = await readyUrl(child, output)
  return new ServerProcess(child, output, url, adminToken, dataDir, {
    ownsData: options.dataDir === undefined,
    audited: options.audited ?? true,
    isNode: env['DATABASE_URL'] !== undefined,
  })
}

function readyUrl(child: ChildProcess, output: { text: string; errors: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const readyMs = patient(READY_MS)
    // oxlint-disable-next-line eslint/no-restricted-globals -- kills a program that does not end
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`not ready in ${readyMs} ms\n${output.text}\n${output.errors}`))
    }, readyMs)
    let isReady = false
    child.stdout?.on('data', (chunk: Buffer) => {
      output.text = newest(output.text) + chunk.toString()
      // Searching a growing log for a text would join the whole log again for every line.
      if (isReady) return
      const ready = /Tollgate ready on (http:\/\/\S+)/.exec(output.text)
      if (ready?.[1] === undefined) return
      isReady = true
      clearTimeout(timer)
      resolve(ready[1])
    })
    child.once('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`ended with ${code} before it was ready\n${output.text}\n${output.errors}`))
    })
  })
}

/** Only the newest part of a log that grows for an hour is stored, since the length of a string is limited. */
function newest(text: string): string {
  return text.length > LOG_CHARS_MAX ? text.slice(-LOG_CHARS_MAX / 2) : text
}

class ServerProcess extends ApiClient implements Tollgate {
  readonly dataDir: string
  readonly #child: ChildProcess
  readonly #output: { text: string; errors: string }
  readonly #ownsData: boolean
  readonly #audited: boolean
  readonly #isNode: boolean
  #stopped = false

  constructor(
    child: ChildProcess,
    output: { text: string; errors: string },
    url: string,
    adminToken: string,
    dataDir: string,
    { ownsData, audited, isNode }: { readonly ownsData: boolean; readonly audited: boolean; readonly isNode: boolean },
  ) {
    super(url, adminToken)
    this.#child = child
    this.#output = output
    this.dataDir = dataDir
    this.#ownsData = ownsData
    this.#audited = audited
    this.#isNode = isNode
  }

  get exitCode(): number | null {
    return this.#child.exitCode
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  logs(): string[] {
    return this.#output.text.split('\n').filter((line) => line !== '')
  }

  errors(): string {
    return this.#output.errors
  }

  kill(signal: NodeJS.Signals): Promise<void> {
    return stopped(this.#child, signal)
  }

  /** Deletes everything, whatever the audit finds. */
  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    try {
      if (this.#audited && this.runs) await auditClean(this)
    } finally {
      // oxlint-disable-next-line eslint/no-restricted-globals -- kills a program that does not end
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000)
      // A node of several waits 5 s for load balancers to notice its stop; two more SIGINT end that wait.
      const hurries = this.#isNode
        ? // oxlint-disable-next-line eslint/no-restricted-globals -- kills a program that does not end
          [1, 2].map((count) => setTimeout(() => this.#child.kill('SIGINT'), count * SIGNAL_MS))
        : []
      await this.kill('SIGTERM')
      for (const each of [timer, ...hurries]) clearTimeout(each)
      if (this.#ownsData) rmSync(this.dataDir, { recursive: true, force: true })
    }
  }

  get runs(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }
}
