import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import { ipKey, type TrustedProxies } from './client-ip.ts'

export const CONNECTIONS_MAX = 10_000
const ADDRESS_MAX = 256
const NOTICE_EVERY_MS = 60_000

export interface SocketSharePorts {
  readonly clock: Clock
  readonly proxies: TrustedProxies
  readonly notice: (message: string) => void
  readonly connectionsMax?: number
}

/**
 * Counts connections by remote address, IPv6 by /64. An address may have 256, and never more than are still free. Above
 * that, a new connection replaces the oldest idle one of the same address: a client with idle connections is still
 * served, and other addresses are not affected. The operator's own proxies carry many clients and are not counted.
 */
export class SocketShares {
  readonly #ports: SocketSharePorts
  readonly #connectionsMax: number
  readonly #byAddress = new Map<string, Set<Socket>>()
  #noticedMs = Number.NEGATIVE_INFINITY
  open = 0
  /** Connections refused or closed since the start because of their address's share. */
  refused = 0
  /** The sockets of WebSockets with a running turn. */
  readonly busy = new WeakSet<Socket>()
  replaced = 0

  constructor(ports: SocketSharePorts) {
    this.#ports = ports
    this.#connectionsMax = ports.connectionsMax ?? CONNECTIONS_MAX
  }

  /** Counts a new connection, or closes it. */
  add(socket: Socket): void {
    this.open += 1
    const address = this.#ports.proxies.peerOf(socket)
    const key = this.#ports.proxies.has(address) ? null : ipKey(address)
    socket.on('close', () => {
      this.open -= 1
      if (key !== null) this.#leave(key, socket)
    })
    if (key === null) return
    const own = this.#byAddress.get(key) ?? new Set()
    const most = Math.min(ADDRESS_MAX, Math.max(1, this.#connectionsMax - this.open))
    if (own.size >= most && !this.#makeRoom(own, key)) {
      this.refused += 1
      socket.destroy()
      return
    }
    own.add(socket)
    this.#byAddress.set(key, own)
  }

  #makeRoom(own: Set<Socket>, address: string): boolean {
    this.#tell(address, own.size)
    for (const socket of own) {
      if (this.busy.has(socket) || !isIdle(socket)) continue
      own.delete(socket)
      this.replaced += 1
      socket.destroy()
      return true
    }
    return false
  }

  #leave(key: string, socket: Socket): void {
    const own = this.#byAddress.get(key)
    if (own?.delete(socket) === true && own.size === 0) this.#byAddress.delete(key)
  }

  #tell(address: string, connections: number): void {
    const nowMs = this.#ports.clock.monotonic()
    if (nowMs - this.#noticedMs < NOTICE_EVERY_MS) return
    this.#noticedMs = nowMs
    this.#ports.notice(
      `${address} has ${connections} connections, its share: its next ones take the place of idle ones or are closed. If it is a proxy or balancer of yours, name it in TRUSTED_PROXIES`,
    )
  }
}

/**
 * Whether a connection is idle: no request runs, or the answer has been sent and only the rest of an unwanted body is
 * read.
 */
function isIdle(socket: Socket): boolean {
  // Node keeps the running response on its sockets, and its default handler of broken requests reads it there too.
  const { _httpMessage: running } = socket as Socket & { readonly _httpMessage?: ServerResponse | null }
  return (running ?? null) === null || socket.writableEnded
}
