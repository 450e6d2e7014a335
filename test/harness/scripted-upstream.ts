import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ScriptedUpstream {
  /** What stands before an operation's path. */
  readonly url: string
  /** Bodies received so far, parsed; those that are not JSON are left out. */
  readonly requests: readonly Record<string, unknown>[]
  /** All requests so far, as received. */
  readonly received: readonly {
    readonly path: string
    readonly headers: IncomingMessage['headers']
    readonly body: Buffer
  }[]
  /** Sets the answer to requests from now on. */
  answer(script: (response: ServerResponse, request: IncomingMessage) => void): void
  close(): Promise<void>
}

/** A real HTTP server whose answers a test writes byte by byte, for cases without a recording. */
export async function startScriptedUpstream(): Promise<ScriptedUpstream> {
  const requests: Record<string, unknown>[] = []
  const received: { path: string; headers: IncomingMessage['headers']; body: Buffer }[] = []
  let script: (response: ServerResponse, request: IncomingMessage) => void = (response) => {
    response.writeHead(500).end()
  }
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const body = Buffer.concat(parts)
      received.push({ path: request.url ?? '', headers: request.headers, body })
      // Written by the server under test.
      if ((request.headers['content-type'] ?? '').startsWith('application/json'))
        requests.push(JSON.parse(body.toString('utf8')) as Record<string, unknown>)
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
    received,
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

/** A JSON answer for `answer`. */
export function answers(body: unknown, status = 200): (response: ServerResponse) => void {
  return (response) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
