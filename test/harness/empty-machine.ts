import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { patient, until } from './patience.ts'
import { postgresBin } from './postgres.ts'
import { hasProgram } from './program.ts'

const COMMANDS_MS = 120_000

/** What is wanted for one that is not there; null = nothing. */
export function missingForMachine(): string | null {
  if (process.getuid?.() !== 0) return 'needs root'
  const missing = ['bwrap', 'setpriv', 'curl', 'haproxy'].find((name) => !hasProgram(name))
  if (missing !== undefined) return `needs ${missing}`
  if (!hasProgram('valkey-server') && !hasProgram('redis-server')) return 'needs Valkey or Redis'
  return postgresBin() === null ? 'needs PostgreSQL' : null
}

/**
 * A machine without this clone: the system's programs, Node, empty folders and a network of its own, so that each
 * address and port is the one that a page names. Its shell keeps its folder and its environment.
 */
export class EmptyMachine {
  readonly #shell: ChildProcess
  readonly #folder: string
  #said = ''
  #runs = 0

  private constructor(shell: ChildProcess, folder: string) {
    this.#shell = shell
    this.#folder = folder
    for (const output of [shell.stdout, shell.stderr])
      output?.on('data', (part: Buffer) => (this.#said += String(part)))
  }

  /** `files`: by the path in the machine, the file here that it is. `hosts`: the addresses of names. */
  static start(files: Readonly<Record<string, string>>, hosts: Readonly<Record<string, string>>): EmptyMachine {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-machine-'))
    const names = Object.entries({ localhost: '127.0.0.1', ...hosts }).map(([name, address]) => `${address} ${name}`)
    writeFileSync(join(folder, 'hosts'), `${names.join('\n')}\n`)
    const bound = { '/opt/node/bin/node': process.execPath, '/etc/hosts': join(folder, 'hosts'), ...files }
    const alone =
      '--unshare-net --unshare-pid --die-with-parent --clearenv --ro-bind /usr /usr --proc /proc --dev /dev --tmpfs /tmp'
    const path = `/opt/node/bin:${postgresBin() ?? ''}:/usr/sbin:/usr/bin`
    const home = `--setenv PATH ${path} --setenv HOME /srv --chdir /srv`
    const box = [
      ...alone.split(' '),
      ...['bin', 'sbin', 'lib', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]),
      // Folders of bound files are only root's otherwise.
      ...['/etc', '/opt', '/opt/node', '/opt/node/bin', '/srv'].flatMap((name) => ['--dir', name]),
      ...['passwd', 'group', 'nsswitch.conf', 'alternatives'].flatMap((name) => [
        '--ro-bind',
        `/etc/${name}`,
        `/etc/${name}`,
      ]),
      ...Object.entries(bound).flatMap(([name, file]) => ['--ro-bind', file, name]),
      ...home.split(' '),
    ]
    return new EmptyMachine(spawn('bwrap', [...box, 'sh', '-e'], { stdio: 'pipe' }), folder)
  }

  /** Runs commands in its shell, which a failure ends; answers with what they print. */
  async run(commands: string): Promise<string> {
    this.#runs += 1
    const mark = `--- ${this.#runs} ---`
    const from = this.#said.length
    this.#shell.stdin?.write(`${commands}\necho '${mark}'\n`)
    await until(COMMANDS_MS, commands, () => {
      assert.equal(this.#shell.exitCode, null, `${commands}\n${this.#said.slice(from)}`)
      return this.#said.slice(from).includes(`${mark}\n`)
    })
    return this.#said.slice(from, this.#said.indexOf(`${mark}\n`, from))
  }

  /** Starts a server in the background, with its process id and its output in files of that name. */
  async serve(name: string, command: string, ready: string): Promise<void> {
    const limit = Math.round(patient(COMMANDS_MS) / 1_000)
    await this.run(
      `${command} >/srv/${name}.log 2>&1 & echo $! >/srv/${name}.pid
timeout ${limit} sh -c 'until ${ready}; do kill -0 "$(cat /srv/${name}.pid)" || exit 1; sleep 0.1; done' >/dev/null 2>&1 || { cat /srv/${name}.log; false; }`,
    )
  }

  async stop(): Promise<void> {
    if (this.#shell.exitCode === null && this.#shell.signalCode === null) {
      const ended = new Promise((resolve) => this.#shell.once('exit', resolve))
      this.#shell.kill('SIGKILL')
      await ended
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
