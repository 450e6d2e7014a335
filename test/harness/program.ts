import { spawn, spawnSync, type ChildProcess, execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { until } from './patience.ts'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import assert from 'node:assert/strict'

const ROOT = join(import.meta.dirname, '../..')
/** Ports below those of outgoing connections, for which Linux uses 32,768 and higher. */
const LOWEST = 10_000
const HIGHEST = 32_000
const TRIES = 100
const READY_MS = 20_000

/** Whether a program is installed on this machine. */
export function hasProgram(name: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' }).status === 0
}

/** Prints that tests are skipped because a program is missing; under CI that is a failure. */
export function missing(what: string, debian: string): null {
  const sentence = `SKIPPED: ${what}. Install the package "${debian}" to run these tests.`
  if (process.env['CI'] === 'true') throw new Error(sentence)
  console.error(sentence)
  return null
}

/** The folder of the programs that `.ci/run` builds. */
const BUILT = join(homedir(), '.cache/tollgate-ci')

/**
 * The path of a program that `.ci/run` has built, the newest that matches, or that is installed on this machine; null =
 * none.
 */
export function builtProgram(name: string | RegExp): string | null {
  const built = (existsSync(BUILT) ? readdirSync(BUILT) : [])
    .filter((file) => (typeof name === 'string' ? file === name : name.test(file)))
    .map((file) => join(BUILT, file))
    .toSorted((left, right) => statSync(right).mtimeMs - statSync(left).mtimeMs)
  if (built[0] !== undefined) return built[0]
  return typeof name === 'string' && hasProgram(name) ? name : null
}

export interface RunningProgram {
  stop(): Promise<void>
}

/** Starts a program of another project, and resolves when it listens on `port` of 127.0.0.1. */
export async function startProgram(
  [name, ...words]: readonly [string, ...string[]],
  port: number,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningProgram> {
  const child = spawn(name, words, {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk: Buffer) => (said += chunk.toString()))
  try {
    await until(READY_MS, `${name} listens`, () => {
      if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}: ${said}`)
      return listens(port)
    })
  } catch (thrown) {
    await stopped(child)
    throw thrown instanceof Error ? new Error(`${thrown.message}\n${said}`, { cause: thrown }) : thrown
  }
  return { stop: () => stopped(child) }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** Sends the signal and waits for the end of the process. */
export async function stopped(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** A shipped file with other values. Each edit must find the text that it replaces, or another file would be tested. */
export function edited(text: string, edits: readonly (readonly [from: string, to: string])[]): string {
  return edits.reduce((left, [from, to]) => {
    assert.ok(left.includes(from), `the file has no ${from}`)
    return left.replaceAll(from, to)
  }, text)
}

/** A free port of 127.0.0.1, for a program that must be given one. */
export async function freePort(): Promise<number> {
  for (let turn = 1; ; turn += 1) {
    const port = randomInt(LOWEST, HIGHEST)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
      server.close()
      await once(server, 'close')
      return port
    } catch (failure) {
      if (turn === TRIES) throw failure
    }
  }
}

/** The program test/long/shipped/schemas.go, which `.ci/run` builds; null = it was not built. */
export const SCHEMAS = builtProgram(/^schemas-/)

/** What the schema of a kind finds wrong in files; empty = nothing. */
export function schemaFindings(kind: 'dashboard' | 'compose' | 'monitor', ...files: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(SCHEMAS ?? '', [kind, ...files], {
    encoding: 'utf8',
    env: { TOLLGATE_KEK: 'k', TOLLGATE_ADMIN_TOKEN: 't', POSTGRES_PASSWORD: 'p' },
  })
  if (error !== undefined) throw error
  return status === 0 ? stderr : `${stdout}${stderr}`
}

/** Packs the npm package of this working tree in `folder`; returns the path of the tarball. */
export function packTarball(folder: string): string {
  return execFileSync(process.execPath, [join(ROOT, 'scripts/package.ts'), folder], {
    cwd: ROOT,
    encoding: 'utf8',
  }).trim()
}
