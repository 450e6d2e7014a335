import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chownSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort, missing, stopped } from './program.ts'

const INSTALLATIONS = '/usr/lib/postgresql'
const READY_MS = 20_000
/** fsync is off, since these tests kill processes, never the machine. */
const TEST_SETTINGS = ['fsync=off', 'max_connections=100', 'shared_buffers=32MB']
const POLL_MS = 50
const run = promisify(execFile)

export interface Postgres {
  readonly url: string
  /** The pid of the first process, the parent of the others. */
  readonly pid: () => number
  /** Ends every server process at once, as a crash would, and starts again on the same data. */
  crash(): Promise<void>
  /** Ends every server process at once, until `start`. */
  halt(): Promise<void>
  start(): Promise<void>
  /** Stops every server process at once, like a machine that hangs; the returned function lets them continue. */
  stall(): Promise<() => void>
  stop(): Promise<void>
}

export interface Standby extends Postgres {
  /** Makes the standby the primary. */
  promote(): Promise<void>
}

/**
 * Starts a PostgreSQL in a temporary directory in `parent`, on a free port of 127.0.0.1. Returns null, with a message,
 * if none is installed; under CI that is a failure.
 */
export async function startPostgres(
  parent = tmpdir(),
  settings: readonly string[] = TEST_SETTINGS,
): Promise<Postgres | null> {
  const bin = postgresBin()
  if (bin === null) return missing(`no PostgreSQL under ${INSTALLATIONS}`, 'postgresql')
  const owner = await serverOwner()
  const directory = ownedFolder(owner, parent)
  await run('cp', ['-a', await initialised(bin, owner), join(directory, 'data')])
  return serve(bin, owner, directory, settings)
}

/** Starts a standby of `primary`, with streaming replication. */
export async function startStandby(primary: Postgres): Promise<Standby> {
  const bin = postgresBin()
  if (bin === null) throw new Error('There is no PostgreSQL.')
  const owner = await serverOwner()
  const directory = ownedFolder(owner)
  const { port, username } = new URL(primary.url)
  const from = ['-D', join(directory, 'data'), '-h', '127.0.0.1', '-p', port, '-U', username, '-R', '-c', 'fast']
  await run(...asOwner(owner, join(bin, 'pg_basebackup'), from), { cwd: directory })
  const standby = await serve(bin, owner, directory, TEST_SETTINGS)
  const promote = async (): Promise<void> => void (await direct(standby.url, 'SELECT pg_promote(true, 30)'))
  return { ...standby, promote }
}

/** Starts the server with the data in `directory`/data. */
async function serve(
  bin: string,
  owner: Owner | null,
  directory: string,
  settings: readonly string[],
): Promise<Postgres> {
  const data = join(directory, 'data')
  const port = await freePort()
  const options = [
    '-D',
    data,
    '-h',
    '127.0.0.1',
    '-p',
    String(port),
    '-k',
    directory,
    ...settings.flatMap((setting) => ['-c', setting]),
  ]
  const start = (): ChildProcess =>
    spawn(...asOwner(owner, join(bin, 'postgres'), options), { cwd: directory, stdio: 'ignore' })
  let child = start()
  const url = `postgres://tollgate@127.0.0.1:${port}/postgres`
  // SIGQUIT is PostgreSQL's immediate shutdown; the directory is deleted anyway.
  const halt = (): Promise<void> => stopped(child, 'SIGQUIT')
  const stop = async (): Promise<void> => {
    await halt()
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await ready(url, child)
  } catch (thrown) {
    await stop()
    throw thrown
  }
  const startAgain = async (): Promise<void> => {
    child = start()
    await ready(url, child)
  }
  const crash = async (): Promise<void> => {
    await halt()
    await startAgain()
  }
  return { url, pid: () => child.pid ?? 0, crash, halt, start: startAgain, stall: () => stall(child.pid ?? 0), stop }
}

/** The directory that `initdb` made, once on this machine, since that takes longer than the rest of a start. */
async function initialised(bin: string, owner: Owner | null): Promise<string> {
  const made = join(
    tmpdir(),
    `tollgate-initdb-${createHash('sha256')
      .update(`${bin} ${owner?.uid ?? userInfo().uid}`)
      .digest('hex')
      .slice(0, 12)}`,
  )
  if (existsSync(made)) return made
  const parent = ownedFolder(owner)
  const data = join(parent, 'data')
  const options = ['-D', data, '-U', 'tollgate', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N', '--wal-segsize=1']
  await run(...asOwner(owner, join(bin, 'initdb'), options), { cwd: parent })
  try {
    renameSync(data, made)
  } catch (thrown) {
    // Another test file created it first.
    if (!existsSync(made)) throw thrown
  }
  rmSync(parent, { recursive: true, force: true })
  return made
}

/** The folder of PostgreSQL's programs; null = none is installed. */
export function postgresBin(): string | null {
  if (!existsSync(INSTALLATIONS)) return null
  const versions = readdirSync(INSTALLATIONS)
    .map(Number)
    .filter(Number.isInteger)
    .toSorted((left, right) => right - left)
  const bins = versions.map((version) => join(INSTALLATIONS, String(version), 'bin'))
  return bins.find((bin) => existsSync(join(bin, 'postgres')) && existsSync(join(bin, 'initdb'))) ?? null
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

/** PostgreSQL refuses to run as root, so root runs it as the user that the PostgreSQL package created. */
export async function serverOwner(): Promise<Owner | null> {
  if (userInfo().uid !== 0) return null
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'postgres'])).stdout)),
  )
  if (uid === undefined || gid === undefined) throw new Error('There is no user "postgres" to run the server as.')
  return { uid, gid }
}

/** A new folder in which the server's user may write. */
export function ownedFolder(owner: Owner | null, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'tollgate-postgres-'))
  if (owner !== null) chownSync(folder, owner.uid, owner.gid)
  return folder
}

export function asOwner(owner: Owner | null, command: string, values: readonly string[]): [string, string[]] {
  if (owner === null) return [command, [...values]]
  return ['setpriv', [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', command, ...values]]
}

export async function ready(url: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + READY_MS
  for (;;) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode} before it was ready.`)
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 })
    try {
      await client.connect()
      await client.end()
      return
    } catch (thrown) {
      if (performance.now() > deadline) throw thrown
    }
    // oxlint-disable-next-line eslint/no-restricted-globals -- looks whether a program answers
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** The postmaster is stopped first, so that it starts nothing meanwhile. */
async function stall(postmaster: number): Promise<() => void> {
  process.kill(postmaster, 'SIGSTOP')
  const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(postmaster)])
  const all = [
    postmaster,
    ...stdout
      .split('\n')
      .map(Number)
      .filter((pid) => pid > 0),
  ]
  const send = (signal: NodeJS.Signals): void => {
    for (const pid of all) {
      try {
        process.kill(pid, signal)
      } catch {
        // The process ended meanwhile.
      }
    }
  }
  send('SIGSTOP')
  return () => send('SIGCONT')
}

/** Runs statements on a connection of their own, and returns the rows of the last one. */
export async function direct(url: string, ...statements: readonly string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    let rows: Record<string, unknown>[] = []
    for (const statement of statements) ({ rows } = await client.query<Record<string, unknown>>(statement))
    return rows
  } finally {
    await client.end()
  }
}
