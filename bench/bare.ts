import { createServer } from 'node:http'
import { connect, createServer as createSocketServer, type AddressInfo, type Server } from 'node:net'
import { Pool } from 'undici'

/**
 * Reference servers that do no work, `node bench/bare.ts raw|http ORIGIN`: the lower bound of a proxy in Node. `raw`
 * connects each client's socket with a socket to the upstream; `http` reads and writes HTTP with `node:http` and
 * `undici`, as Tollgate does, without reading bodies.
 */
const [kind = '', upstream = ''] = process.argv.slice(2)
const { hostname, port } = new URL(upstream)

function raw(): Server {
  return createSocketServer((client) => {
    const provider = connect({ host: hostname, port: Number(port), noDelay: true })
    client.setNoDelay(true)
    client.pipe(provider).pipe(client)
    client.on('error', () => provider.destroy())
    provider.on('error', () => client.destroy())
  })
}

function http(): Server {
  const pool = new Pool(upstream, { connections: 512, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      pool.dispatch(
        {
          path: request.url ?? '/',
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: Buffer.concat(chunks),
        },
        {
          onRequestStart: () => undefined,
          onResponseStart: (_controller, status, headers) => {
            // bench/upstream.ts sends each of them once.
            const passed = ['content-type', 'content-length'].map((name) => [name, headers[name]] as const)
            response.writeHead(status, Object.fromEntries(passed.filter(([, value]) => value !== undefined)))
          },
          onResponseData: (_controller, chunk) => void response.write(chunk),
          onResponseEnd: () => void response.end(),
          onResponseError: () => void response.destroy(),
        },
      )
    })
  })
  server.keepAliveTimeout = 120_000
  return server
}

const server = kind === 'raw' ? raw() : http()
server.listen(0, '127.0.0.1', () => {
  // A TCP server's address is an object.
  const { port: own } = server.address() as AddressInfo
  process.stdout.write(`ready ${own}\n`)
})
