import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface CuttingProxy {
  readonly port: number
  /** Answers to COMMIT that did not reach the server. */
  readonly cuts: number
  /**
   * From now on one of so many COMMITs reaches the server and is done, but the connection breaks before its answer; 0 =
   * none.
   */
  every(commits: number): void
  /** The same for the next ones. */
  next(commits: number): void
  /** New connections go there; the ones there are break. */
  moveTo(port: number): void
  stop(): Promise<void>
}

/** A simple query that commits, on the wire: its length, its text, a zero. */
const COMMIT = Buffer.from('COMMIT\0')

/** A proxy between a server and its PostgreSQL. */
export async function startCuttingProxy(target: {
  readonly host: string
  readonly port: number
}): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  const state = { every: 0, commits: 0, next: 0, cuts: 0, port: target.port }
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    const database = keep(connect(state.port, target.host))
    keep(client)
    let cutting = false
    client.on('data', (bytes: Buffer) => {
      if (bytes.includes(COMMIT)) {
        state.commits += 1
        cutting ||= state.next > 0 || (state.every > 0 && state.commits % state.every === 0)
        state.next = Math.max(0, state.next - 1)
      }
      database.write(bytes)
    })
    database.on('data', (bytes: Buffer) => {
      if (!cutting) return void client.write(bytes)
      // The database has answered, so it is done.
      state.cuts += 1
      client.resetAndDestroy()
      database.destroy()
    })
    client.on('close', () => database.destroy())
    database.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    // A TCP server's address is an object.
    port: (server.address() as AddressInfo).port,
    get cuts() {
      return state.cuts
    },
    every: (commits) => {
      state.every = commits
    },
    next: (commits) => {
      state.next = commits
    },
    moveTo: (port) => {
      state.port = port
      for (const socket of sockets) socket.destroy()
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
