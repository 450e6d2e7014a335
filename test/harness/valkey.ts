import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePort } from './free-port.ts'

const NAMES = ['valkey-server', 'redis-server']
const READY_MS = 10_000
const POLL_MS = 20

/** A Valkey that belongs to the test. */
export interface TestValkey {
  readonly url: string
  /** Sends one command. */
  command(name: string, ...values: readonly string[]): Promise<unknown>
  /** Ends it at once; `start` makes a new, empty one on the same port. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Stops the process: connections stay open, nothing answers. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

/**
 * On a free port of 127.0.0.1, without files. Returns null, with a message, if none is installed; under CI that is a
 * failure.
 */
export async function startValkey(): Promise<TestValkey | null> {
  const binary = find()
  if (binary === null) {
    const sentence = `SKIPPED: neither ${NAMES.join(' nor ')} is installed. Install the package "redis-server" to run these tests.`
    if (process.env['CI'] === 'true') throw new Error(sentence)
    console.error(sentence)
    return null
  }
  const valkey = new ValkeyProcess(binary, await freePort())
  await valkey.start()
  return valkey
}

class ValkeyProcess implements TestValkey {
  readonly url: string
  readonly #binary: string
  readonly #port: number
  readonly #directory = mkdtempSync(join(tmpdir(), 'tollgate-valkey-'))
  #child: ChildProcess | null = null

  constructor(binary: string, port: number) {
    this.#binary = binary
    this.#port = port
    this.url = `redis://127.0.0.1:${port}`
  }

  async command(name: string, ...values: readonly string[]): Promise<unknown> {
    const client = new Redis(this.url, { retryStrategy: () => null })
    client.on('error', () => undefined)
    try {
      return await client.call(name, ...values)
    } finally {
      client.disconnect()
    }
  }

  async start(): Promise<void> {
    const options = [
      '--port',
      String(this.#port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      this.#directory,
    ]
    this.#child = spawn(this.#binary, options, { stdio: 'ignore' })
    const deadlineMs = performance.now() + READY_MS
    while (
      !(await this.command('PING').then(
        () => true,
        () => false,
      ))
    ) {
      if (performance.now() > deadlineMs) throw new Error(`${this.#binary} is not ready in ${READY_MS} ms.`)
      await delay(POLL_MS)
    }
  }

  kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
    return new Promise((resolve) => {
      child.once('exit', () => resolve())
      child.kill('SIGKILL')
    })
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
  }

  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

function find(): string | null {
  const paths = NAMES.flatMap((name) =>
    (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, name)),
  )
  return paths.find((path) => existsSync(path)) ?? null
}
