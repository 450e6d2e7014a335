import type { Cluster, Redis, RedisOptions } from 'ioredis'
import { valkeyAddress, type ValkeyAddress } from '../base/valkey-address.ts'

const CONNECT_MS = 1_000
const RECONNECT_MS_MAX = 1_000

/** One server, or a cluster of several. */
export interface ValkeyConnection {
  readonly commands: Redis | Cluster
  /** Every server can be asked. */
  isReady(): boolean
  /** The command that sends a message and answers how many listen. */
  readonly publish: string
  /** The event of a listener for each message. */
  readonly heard: string
  /** Another connection, for messages. */
  listen(): {
    readonly listener: Redis | Cluster
    readonly subscribe: (channels: readonly string[]) => Promise<unknown>
  }
}

/** A command that cannot be sent now is not sent later. */
const NOW_OR_NEVER = {
  connectTimeout: CONNECT_MS,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  disableClientInfo: true,
} as const satisfies RedisOptions

const retryMs = (times: number): number => Math.min(RECONNECT_MS_MAX, 50 * times)

export function connectValkey(
  clients: { readonly Redis: typeof Redis; readonly Cluster: typeof Cluster },
  url: string,
): ValkeyConnection {
  const address = valkeyAddress(url)
  return address?.cluster === true ? cluster(clients.Cluster, address) : oneServer(clients.Redis, url)
}

function oneServer(Client: typeof Redis, url: string): ValkeyConnection {
  const commands = new Client(url.replace(/^valkey/, 'redis'), {
    ...NOW_OR_NEVER,
    enableOfflineQueue: false,
    retryStrategy: retryMs,
    // The former primary of a failover.
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

/** Of plain messages each node would count only its own listeners, so messages are those of a shard. */
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
      // Certificates name hosts and not their addresses.
      dnsLookup: (host, found) => found(null, host),
    })
  const commands = connect(false)
  // Else a node would be connected to by the first command for it, and the next ones meanwhile be refused.
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
