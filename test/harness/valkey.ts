import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Cluster, Redis } from 'ioredis'
import { until } from './patience.ts'
import { freePort, hasProgram, missing, stopped } from './program.ts'

const NAMES = ['valkey-server', 'redis-server']
const READY_MS = 10_000
const POLL_MS = 20

/** A Valkey for one test. */
export interface TestValkey {
  readonly url: string
  /** Sends one command. */
  command(name: string, ...values: readonly string[]): Promise<unknown>
  /** The names of all keys, by shard. */
  names(): Promise<readonly (readonly string[])[]>
  /** Ends it at once; `start` makes a new, empty one on the same port. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Stops the process: connections stay open, but nothing answers. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

/**
 * Starts a Valkey on a free port of 127.0.0.1, without files. Returns null, with a message, if none is installed; under
 * CI that is a failure.
 */
export async function startValkey(): Promise<TestValkey | null> {
  const binary = binaryOrSkip()
  if (binary === null) return null
  const valkey = new ValkeyProcess(binary, await freePort())
  await valkey.start()
  return valkey
}

/** Starts three shards without replicas; `kill`, `freeze` and their opposites are those of the first one. */
export async function startValkeyCluster(): Promise<TestValkey | null> {
  const binary = binaryOrSkip()
  if (binary === null) return null
  const shards: ValkeyProcess[] = []
  for (let index = 0; index < SHARDS; index += 1)
    shards.push(new ValkeyProcess(binary, await freePort(), await freePort()))
  const cluster = new ValkeyCluster(shards)
  await cluster.start()
  return cluster
}

function binaryOrSkip(): string | null {
  return NAMES.find(hasProgram) ?? missing(`neither ${NAMES.join(' nor ')} is installed`, 'redis-server')
}

class ValkeyProcess implements TestValkey {
  readonly url: string
  readonly port: number
  readonly #binary: string
  /** The port of the cluster bus; null = it is not part of a cluster. */
  readonly #busPort: number | null
  readonly #directory = mkdtempSync(join(tmpdir(), 'tollgate-valkey-'))
  #child: ChildProcess | null = null

  constructor(binary: string, port: number, busPort: number | null = null) {
    this.#binary = binary
    this.port = port
    this.#busPort = busPort
    this.url = `redis://127.0.0.1:${port}`
  }

  /** The arguments of CLUSTER MEET with which another shard joins it. */
  get meetingPoint(): readonly string[] {
    return ['127.0.0.1', String(this.port), String(this.#busPort ?? 0)]
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

  async names(): Promise<readonly (readonly string[])[]> {
    const names = await this.command('KEYS', '*')
    return [Array.isArray(names) ? names.map(String) : []]
  }

  async start(): Promise<void> {
    const options = {
      port: this.port,
      bind: '127.0.0.1',
      save: '',
      appendonly: 'no',
      dir: this.#directory,
      ...(this.#busPort === null
        ? {}
        : { 'cluster-enabled': 'yes', 'cluster-port': this.#busPort, 'cluster-node-timeout': 2_000 }),
    }
    const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
    this.#child = spawn(this.#binary, words, { stdio: 'ignore' })
    await until(READY_MS, `${this.#binary} is ready`, () => this.command('PING').then(Boolean, () => false), POLL_MS)
  }

  kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    return child === null ? Promise.resolve() : stopped(child, 'SIGKILL')
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

const SHARDS = 3
const SLOTS = 16_384

class ValkeyCluster implements TestValkey {
  readonly url: string
  readonly #shards: readonly ValkeyProcess[]
  #isMade = false

  constructor(shards: readonly ValkeyProcess[]) {
    this.#shards = shards
    this.url = `redis+cluster://${shards.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
  }

  get #first(): ValkeyProcess {
    return this.#shards[0] ?? raise('There is no shard.')
  }

  async command(name: string, ...values: readonly string[]): Promise<unknown> {
    const client = new Cluster(this.#shards.map(({ port }) => ({ host: '127.0.0.1', port })))
    try {
      return await client.call(name, ...values)
    } finally {
      client.disconnect()
    }
  }

  async names(): Promise<readonly (readonly string[])[]> {
    return (await Promise.all(this.#shards.map((shard) => shard.names()))).flat()
  }

  async start(): Promise<void> {
    if (this.#isMade) await this.#first.start()
    else await this.#make()
    for (const shard of this.#shards) {
      const isReady = async (): Promise<boolean> =>
        String(await shard.command('CLUSTER', 'INFO')).includes('cluster_state:ok')
      await until(READY_MS, 'the cluster is ready', isReady, POLL_MS)
    }
  }

  async #make(): Promise<void> {
    for (const [index, shard] of this.#shards.entries()) {
      await shard.start()
      const [from, end] = [index, index + 1].map((part) => Math.floor((part * SLOTS) / SHARDS))
      await shard.command('CLUSTER', 'ADDSLOTSRANGE', String(from), String((end ?? 0) - 1))
    }
    for (const shard of this.#shards) await shard.command('CLUSTER', 'MEET', ...this.#first.meetingPoint)
    this.#isMade = true
  }

  kill(): Promise<void> {
    return this.#first.kill()
  }

  freeze(): void {
    this.#first.freeze()
  }

  thaw(): void {
    this.#first.thaw()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#shards.map((shard) => shard.stop()))
  }
}

function raise(sentence: string): never {
  throw new Error(sentence)
}
