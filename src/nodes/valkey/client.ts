import { createHash } from 'node:crypto'
import type { Cluster, Redis, RedisOptions } from 'ioredis'
import type { Clock } from '../../base/clock.ts'
import type { IdSource } from '../../base/ids.ts'
import { thrownMessage } from '../../base/text.ts'
import { valkeyAddress, type ValkeyAddress } from '../../base/valkey-address.ts'
import type { NodeCipher } from './node-cipher.ts'

const CONNECT_MS = 1_000
const RECONNECT_MS_MAX = 1_000

/** One server, or a cluster of several. */
interface ValkeyConnection {
  readonly commands: Redis | Cluster
  /** Whether every server can be asked. */
  isReady(): boolean
  /** The command that sends a message and returns the number of listeners. */
  readonly publish: string
  /** The event that a listener emits for each message. */
  readonly heard: string
  /** Opens another connection, for messages. */
  listen(): {
    readonly listener: Redis | Cluster
    readonly subscribe: (channels: readonly string[]) => Promise<unknown>
  }
}

/** Options with which a command that cannot be sent now is not sent later either. */
const NOW_OR_NEVER = {
  connectTimeout: CONNECT_MS,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  disableClientInfo: true,
} as const satisfies RedisOptions

const retryMs = (times: number): number => Math.min(RECONNECT_MS_MAX, 50 * times)

function oneServer(Client: typeof Redis, url: string): ValkeyConnection {
  const commands = new Client(url.replace(/^valkey/, 'redis'), {
    ...NOW_OR_NEVER,
    enableOfflineQueue: false,
    retryStrategy: retryMs,
    // The server is the former primary of a failover.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 1 : false),
  })
  return {
    commands,
    isReady: () => commands.status === 'ready',
    publish: 'PUBLISH',
    heard: 'messageBuffer',
    listen: () => {
      const listener = commands.duplicate({
        enableOfflineQueue: true,
        maxRetriesPerRequest: null,
        autoResubscribe: true,
      })
      return { listener, subscribe: (channels) => listener.subscribe(...channels) }
    },
  }
}

/** With plain messages in a cluster, each node would count only its own listeners, so sharded messages are used. */
function cluster(Client: typeof Cluster, { nodes, tls, username, password }: ValkeyAddress): ValkeyConnection {
  const connect = (listens: boolean): Cluster =>
    new Client([...nodes], {
      redisOptions: {
        ...NOW_OR_NEVER,
        ...(listens ? { maxRetriesPerRequest: null } : {}),
        ...(tls ? { tls: {} } : {}),
        ...(username === null ? {} : { username }),
        ...(password === null ? {} : { password }),
      },
      enableOfflineQueue: listens,
      clusterRetryStrategy: retryMs,
      maxRedirections: 3,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      retryDelayOnTryAgain: 0,
      shardedSubscribers: true,
      // Certificates name hosts instead of addresses.
      dnsLookup: (host, found) => found(null, host),
    })
  const commands = connect(false)
  // Otherwise the first command for a node would open its connection, and the next ones would be refused meanwhile.
  commands.on('+node', (node: Redis) => void node.connect().catch(() => undefined))
  return {
    commands,
    isReady: () => {
      const shards = commands.nodes('master')
      return commands.status === 'ready' && shards.length > 0 && shards.every(({ status }) => status === 'ready')
    },
    publish: 'SPUBLISH',
    heard: 'smessageBuffer',
    listen: () => {
      const listener = connect(true)
      return { listener, subscribe: (channels) => listener.ssubscribe(...channels) }
    },
  }
}

const FAILURES_MAX = 3
const PROBE_MS = 1_000
const CLOSE_MS = 1_000

/** A value of a command. Keys and values are bytes to Valkey. */
export type Argument = string | number | Buffer

/** A program that Valkey runs as one step. */
export interface Script {
  readonly text: string
  readonly sha: string
}

/** What the parts of this room are made of. */
export interface ValkeyPorts {
  readonly valkey: Valkey
  readonly cipher: NodeCipher
  readonly clock: Clock
  readonly ids: IdSource
  /** This process among the others. */
  readonly node: string
}

interface ClientPorts {
  /** A URL in the forms of `valkeyAddress`. */
  readonly url: string
  /** The longest wait for an answer, ms. */
  readonly timeoutMs: number
  readonly clock: Clock
  /** One sentence for the operator. */
  readonly notice: (message: string) => void
}

/** The client library is loaded only where there is a Valkey. */
export async function connectValkey(ports: ClientPorts): Promise<Valkey> {
  const clients = await import('ioredis')
  const address = valkeyAddress(ports.url)
  const connection = address?.cluster === true ? cluster(clients.Cluster, address) : oneServer(clients.Redis, ports.url)
  return new Valkey(ports, connection)
}

export function script(text: string): Script {
  return Object.freeze({ text, sha: createHash('sha1').update(text).digest('hex') })
}

/**
 * The fast state that nodes share. No wait exceeds the time limit. After three failures in a row Valkey is not asked
 * until it answers a probe: meanwhile requests use what this node itself knows.
 */
export class Valkey {
  readonly #connection: ValkeyConnection
  readonly #redis: Redis | Cluster
  readonly #timeoutMs: number
  readonly #clock: Clock
  readonly #notice: (message: string) => void
  #failures = 0
  /** Whether the circuit is open: no command is sent until a probe is answered. */
  #open = false
  #stopProbe: () => void = () => undefined
  #closed = false
  /** The reason why there is no connection. */
  #broken: string | null = null
  /** Called when Valkey answers again. */
  onReturn: () => Promise<void> = () => Promise.resolve()

  constructor({ timeoutMs, clock, notice }: ClientPorts, connection: ValkeyConnection) {
    this.#timeoutMs = timeoutMs
    this.#clock = clock
    this.#notice = notice
    this.#connection = connection
    this.#redis = connection.commands
    // Without a listener the error would end the process. Calls made meanwhile only learn that there is no connection.
    this.#redis.on('error', (error: Error) => {
      this.#broken = error.message
    })
    this.#redis.on('ready', () => {
      this.#broken = null
    })
  }

  /** false = no command may be sent now. */
  get available(): boolean {
    return !this.#open && !this.#closed
  }

  /** Resolves after the first answer or failure. */
  async start(): Promise<void> {
    for (let tries = 0; tries < FAILURES_MAX * 10 && !this.#connection.isReady(); tries += 1) {
      await new Promise<void>((resolve) => void this.#clock.after(PROBE_MS / 20, resolve))
    }
    while (!this.#open && !(await this.#ping()));
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopProbe()
    await new Promise<void>((resolve) => {
      const stop = this.#clock.after(CLOSE_MS, resolve)
      this.#redis.once('end', () => {
        stop()
        resolve()
      })
      this.#redis.disconnect()
    })
  }

  /** Runs the script on `keys`; null = no answer in time. Texts are returned as bytes. */
  run(program: Script, keys: readonly string[], values: readonly Argument[]): Promise<unknown> {
    return this.#ask(async () => {
      try {
        return await this.#redis.callBuffer('EVALSHA', [program.sha, keys.length, ...keys, ...values])
      } catch (thrown) {
        // Valkey was restarted, or never had the script.
        if (!(thrown instanceof Error) || !thrown.message.startsWith('NOSCRIPT')) throw thrown
        return this.#redis.callBuffer('EVAL', [program.text, keys.length, ...keys, ...values])
      }
    })
  }

  /** Runs one command; null = no answer in time, or the answer is null. */
  command(name: string, values: readonly Argument[]): Promise<unknown> {
    return this.#ask(() => this.#redis.callBuffer(name, [...values]))
  }

  /** Sends a message to all listeners of `channel`, and returns their number; 0 = none, or no answer in time. */
  async publish(channel: string, message: Buffer): Promise<number> {
    return Number((await this.command(this.#connection.publish, [channel, message])) ?? 0)
  }

  /** The bytes of a key; null = none, or no answer to three requests. */
  async bytesOf(key: string): Promise<Buffer | null> {
    for (let tries = 0; tries < FAILURES_MAX; tries += 1) {
      const answer = await this.#ask(async () => [await this.#redis.getBuffer(key)])
      if (Array.isArray(answer)) return Buffer.isBuffer(answer[0]) ? answer[0] : null
    }
    return null
  }

  /**
   * Receives the messages of `channels` over another connection, in any state of the circuit. The returned function
   * ends it.
   */
  listen(channels: readonly string[], heard: (message: Buffer) => void): () => void {
    const { listener, subscribe } = this.#connection.listen()
    listener.on('error', () => undefined)
    listener.on(this.#connection.heard, (_channel: Buffer, message: Buffer) => heard(message))
    subscribe(channels).catch(() => undefined)
    return () => listener.disconnect()
  }

  async #ask(command: () => Promise<unknown>): Promise<unknown> {
    if (!this.available) return null
    try {
      const answer = await this.#inTime(command())
      this.#failures = 0
      return answer
    } catch (thrown) {
      this.#failed(thrown)
      return null
    }
  }

  #inTime(answer: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const stop = this.#clock.after(this.#timeoutMs, () => {
        // If this process was busy, the answer may already have arrived: sockets are read before this callback runs.
        setImmediate(() => reject(new Error(`No answer in ${this.#timeoutMs} ms.`)))
      })
      answer.then(resolve, reject).finally(stop)
    })
  }

  #failed(thrown: unknown): void {
    this.#failures += 1
    if (this.#failures < FAILURES_MAX || this.#open || this.#closed) return
    this.#open = true
    const said = this.#broken ?? thrownMessage(thrown)
    const reason = said.startsWith('MOVED') ? 'it is a node of a cluster: begin VALKEY_URL with redis+cluster://' : said
    this.#notice(
      `Valkey does not answer (${reason}): rate limits and address blocks go by what each node knows alone, until it does`,
    )
    this.#probeLater()
  }

  #probeLater(): void {
    this.#stopProbe = this.#clock.after(PROBE_MS, () => void this.#probe())
  }

  async #probe(): Promise<void> {
    if (!(await this.#ping())) {
      if (!this.#closed) this.#probeLater()
      return
    }
    this.#open = false
    this.#failures = 0
    await this.onReturn()
    this.#notice('Valkey answers again')
  }

  async #ping(): Promise<boolean> {
    try {
      await this.#inTime(this.#redis.ping())
      return true
    } catch (thrown) {
      this.#failed(thrown)
      return false
    }
  }
}
