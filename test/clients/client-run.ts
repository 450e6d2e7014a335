import { execFile } from 'node:child_process'
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

  /** Runs a client to its end; one that runs for minutes is killed. */
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
      const child = execFile(
        program,
        args,
        {
          cwd: this.work,
          env: { HOME: this.home, PATH: path.join(delimiter), LANG: 'C.UTF-8', TERM: 'dumb', NO_COLOR: '1', ...env },
          timeout: RUN_MS,
          killSignal: 'SIGKILL',
          maxBuffer: 67_108_864,
        },
        (error, stdout, stderr) =>
          resolve({
            code: error === null ? 0 : typeof error.code === 'number' ? error.code : null,
            output: stdout + stderr,
          }),
      )
      child.stdin?.end()
    })
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}
