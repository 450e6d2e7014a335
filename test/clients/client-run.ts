import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

/** Where `run.ts` installs the clients. */
export const CLIENTS = join(import.meta.dirname, '../../node_modules/.cache/clients')
const RUN_MS = 180_000

/** The gateway for a client. */
export interface Target {
  /** The gateway, without a path. */
  readonly url: string
  readonly key: string
  /** The model that the client is told to use. */
  readonly model: string
  /** It is to shorten a conversation of some ten thousand tokens. */
  readonly compacts?: boolean
}

export interface Ran {
  readonly code: number | null
  readonly output: string
}

/** An empty home and an empty folder to work in, and nothing of this process's environment. */
export class ClientHome {
  readonly home = mkdtempSync(join(tmpdir(), 'tollgate-client-'))
  readonly work = join(this.home, 'work')

  constructor() {
    mkdirSync(this.work)
  }

  file(path: string, text: string): string {
    const whole = join(this.home, path)
    mkdirSync(dirname(whole), { recursive: true })
    writeFileSync(whole, text)
    return whole
  }

  /** Runs a client to its end; one that runs for minutes is killed. What it has started ends with it. */
  run(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ran> {
    const path = [
      dirname(process.execPath),
      join(CLIENTS, 'npm/node_modules/.bin'),
      join(CLIENTS, 'python/bin'),
      join(CLIENTS, 'aider/bin'),
      '/usr/bin',
      '/bin',
    ]
    return new Promise((resolve) => {
      const child = spawn(program, args, {
        cwd: this.work,
        env: { HOME: this.home, PATH: path.join(delimiter), LANG: 'C.UTF-8', TERM: 'dumb', NO_COLOR: '1', ...env },
        detached: true,
        timeout: RUN_MS,
        killSignal: 'SIGKILL',
      })
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text
        })
      child.stdin.end()
      child.once('exit', (_code, signal) => {
        endGroup(child)
        if (signal === null) return
        // A program that left the group may still hold the pipes.
        child.stdout.destroy()
        child.stderr.destroy()
      })
      child.once('error', (error) => {
        output += error.message
      })
      child.once('close', (code) => {
        resolve({ code, output })
      })
    })
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (thrown) {
    if (!isGone(thrown)) throw thrown
  }
}

/** The process has ended already. */
export function isGone(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH'
}

/** Its name contains the runner's argument. */
export function isChosen({ name }: { readonly name: string }): boolean {
  return name.toLowerCase().includes(process.env['CLIENT'] ?? '')
}
