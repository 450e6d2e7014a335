import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ScriptedUpstream {
  /** What stands before an operation's path. */
  readonly url: string
  /** Bodies that came so far, parsed. */
  readonly requests: readonly Record<string, unknown>[]
  /** Answers the requests from now on. */
  answer(script: (response: ServerResponse, request: IncomingMessage) => void): void
  close(): Promise<void>
}

/** A real HTTP server whose answers a test writes byte by byte, for what no recorded case shows. */
export async function startScriptedUpstream(): Promise<ScriptedUpstream> {
  const requests: Record<string, unknown>[] = []
  let script: (response: ServerResponse, request: IncomingMessage) => void = (response) => {
    response.writeHead(500).end()
  }
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      // Written by the server under test.
      requests.push(JSON.parse(Buffer.concat(parts).toString('utf8')) as Record<string, unknown>)
      script(response, request)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A TCP server's address is an object.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    answer: (next) => {
      script = next
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
