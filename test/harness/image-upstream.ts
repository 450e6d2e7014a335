import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  /** undefined where the body is no JSON. */
  readonly json: unknown
}

export interface ImageUpstream {
  readonly url: string
  readonly seen: SeenRequest[]
  /** Sets the answers from now on; `count` is the number of earlier POSTs. */
  answer(script: (request: SeenRequest, response: ServerResponse, count: number) => void): void
  close(): Promise<void>
}

/** A provider of images whose answers a test writes; it accepts JSON and forms, and serves files by GET. */
export async function startImageUpstream(): Promise<ImageUpstream> {
  const seen: SeenRequest[] = []
  let count = 0
  let script: Parameters<ImageUpstream['answer']>[0] = (_request, response) => response.writeHead(500).end()
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const body = Buffer.concat(parts)
      const entry = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body,
        json: jsonOf(body),
      }
      seen.push(entry)
      if (entry.method === 'POST') count += 1
      script(entry, response, count - 1)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A TCP server's address is an object.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    answer: (next) => {
      seen.length = 0
      count = 0
      script = next
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
