import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns'
import { once } from 'node:events'
import type { Resolve } from '../../src/protocols/wire/connections.ts'

export interface DnsServer {
  /** Asks only this server. */
  readonly resolve: Resolve
  /** Questions for an address so far. */
  readonly asked: readonly string[]
  /** Sets the answer to questions for the name's IPv4 addresses, by the number of earlier questions. */
  answer(script: (name: string, count: number) => readonly string[]): void
  close(): Promise<void>
}

const TYPE_A = 1
const HEADER_BYTES = 12

/**
 * A real DNS server on the loopback, whose answers a test can change between two questions. Their time to live is 0.
 */
export async function startDnsServer(): Promise<DnsServer> {
  const asked: string[] = []
  let script: (name: string, count: number) => readonly string[] = () => []
  const socket = createSocket('udp4')
  socket.on('message', (message, from) => {
    const name = nameIn(message)
    const end = HEADER_BYTES + name.length + 2
    const addresses = message.readUInt16BE(end) === TYPE_A ? script(name, asked.push(name) - 1) : []
    socket.send(answerTo(message.subarray(0, end + 4), addresses), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver({ timeout: 2_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    asked,
    resolve: (hostname, _options, callback) => {
      resolver.resolve4(hostname, (error, addresses) =>
        callback(
          error,
          (addresses ?? []).map((address) => ({ address, family: 4 })),
        ),
      )
    },
    answer: (next) => {
      asked.length = 0
      script = next
    },
    close: async () => {
      resolver.cancel()
      socket.close()
      await once(socket, 'close')
    },
  }
}

function nameIn(message: Buffer): string {
  const labels: string[] = []
  for (let at = HEADER_BYTES, length = message[at] ?? 0; length > 0; at += length + 1, length = message[at] ?? 0)
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
  return labels.join('.')
}

function answerTo(question: Buffer, addresses: readonly string[]): Buffer {
  const head = Buffer.from(question)
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt16BE(0, 8)
  head.writeUInt16BE(0, 10)
  // The name again by its place, type A, class IN, no time to live.
  const rows = addresses.map((address) =>
    Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
  )
  return Buffer.concat([head, ...rows])
}
