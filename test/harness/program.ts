import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { until } from './patience.ts'

const READY_MS = 20_000

/** Whether a program is on this machine. */
export function hasProgram(name: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' }).status === 0
}

/** Where `.ci/run` puts the programs that it builds. */
const BUILT = join(homedir(), '.cache/tollgate-ci')

/**
 * The path of a program that `.ci/run` has built, the newest of those that match, or that is on this machine; null =
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

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}
