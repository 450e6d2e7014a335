import { execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { direct } from './direct.ts'
import { until } from './patience.ts'
import { asOwner } from './postgres.ts'

const GONE_MS = 20_000
/** It syncs its whole directory first. */
const READY_MS = 60_000
const run = promisify(execFile)

/** A PostgreSQL of this machine that somebody else started: it can be killed, and started again as it was. */
export class RunningServer {
  readonly #url: string
  readonly #command: readonly string[]
  readonly #environment: NodeJS.ProcessEnv
  readonly #directory: string
  #pid: number

  private constructor(url: string, pid: number, directory: string) {
    this.#url = url
    this.#pid = pid
    this.#directory = directory
    const [, ...words] = wordsOf(`/proc/${pid}/cmdline`)
    this.#command = [readlinkSync(`/proc/${pid}/exe`), ...words]
    this.#environment = Object.fromEntries(
      wordsOf(`/proc/${pid}/environ`).map((pair) => [pair.split('=', 1)[0] ?? '', pair.slice(pair.indexOf('=') + 1)]),
    )
  }

  static async of(url: string): Promise<RunningServer> {
    const [row] = await direct(
      url,
      `SELECT pg_read_file('postmaster.pid') AS file, current_setting('data_directory') AS at`,
    )
    const pid = Number(String(row?.['file']).split('\n')[0])
    if (!existsSync(`/proc/${pid}/exe`))
      throw new Error(`The PostgreSQL of ${url} runs on another machine: these tests kill it.`)
    return new RunningServer(url, pid, String(row?.['at']))
  }

  /** kill -9 of every process; the first one is stopped before, so that it starts nothing meanwhile. */
  async kill(): Promise<void> {
    process.kill(this.#pid, 'SIGSTOP')
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(this.#pid)])
    const pids = [this.#pid, ...stdout.split('\n').map(Number)].filter((pid) => pid > 0)
    for (const pid of pids) killed(pid)
    // While its parent has not asked for its end, another server takes it for one that runs.
    await until(GONE_MS, 'every process of the server is gone', () => !pids.some((pid) => existsSync(`/proc/${pid}`)))
  }

  async start(): Promise<void> {
    const [program = '', ...words] = this.#command
    const { uid, gid } = statSync(this.#directory)
    const owner = uid === process.getuid?.() ? null : { uid, gid }
    // It runs on after these tests, as before them.
    const child = spawn(...asOwner(owner, program, words), {
      cwd: this.#directory,
      env: this.#environment,
      stdio: 'ignore',
      detached: true,
    })
    child.unref()
    await until(READY_MS, 'the server has recovered', () => answers(this.#url))
    this.#pid = child.pid ?? 0
  }

  /** Whether a commit is on the disk before it is acknowledged. */
  async syncs(fsync: 'on' | 'as configured'): Promise<void> {
    await direct(this.#url, fsync === 'on' ? 'ALTER SYSTEM SET fsync = on' : 'ALTER SYSTEM RESET fsync')
    await direct(this.#url, 'SELECT pg_reload_conf()')
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await direct(url, 'SELECT 1')
    return true
  } catch {
    return false
  }
}

function wordsOf(file: string): readonly string[] {
  return readFileSync(file, 'utf8').replace(/\0$/, '').split('\0')
}

function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended meanwhile.
  }
}
