import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { endProcessesOf } from './run-folder.ts'

/** Where `run.ts` installs the clients. */
export const CLIENTS = join(import.meta.dirname, '../../node_modules/.cache/clients')
/** The folders there, each with its packages. */
export type Packages =
  | 'npm'
  | 'node'
  | 'python'
  | 'llamaindex'
  | 'pydantic-ai'
  | 'aider'
  | 'dify'
  | 'open-webui'
  | 'librechat'
  | 'n8n'
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
        timeout: RUN_MS,
        killSignal: 'SIGKILL',
      })
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text
        })
      child.stdin.end()
      child.once('exit', () => {
        endProcessesOf(this.home)
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

/** Its name begins with the words of the runner's argument: `pi` is Pi alone, and no Copilot. */
export function isChosen({ name }: { readonly name: string }, asked = process.env['CLIENT'] ?? ''): boolean {
  const rest = name.toLowerCase().slice(asked.length)
  return name.toLowerCase() === asked + rest && (asked === '' || !/^[\p{L}\d]/u.test(rest))
}
