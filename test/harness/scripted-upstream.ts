import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { endsLater } from './lasting.ts'

/** A request whose whole body has arrived. */
export interface Received {
  readonly method: string
  /** Includes the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** undefined if the body is not JSON. */
  readonly json: unknown
}

export interface LocalServer {
  /** The part of the URL before a path. */
  readonly url: string
  close(): Promise<void>
}

/** A real HTTP server, on a free port of loopback, until the end of the test, suite or file that starts it. */
export async function listen(handle: (response: ServerResponse, request: Received) => unknown): Promise<LocalServer> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const body = Buffer.concat(parts)
      handle(response, { method, path: url, headers, body, json: jsonOf(body) })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A TCP server's address is an object.
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  endsLater(close)
  return { url: `http://127.0.0.1:${port}`, close }
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Writes an answer; `count` is the number of earlier POSTs since the script was set. */
export type Script = (response: ServerResponse, request: Received, count: number) => unknown

export interface ScriptedUpstream extends LocalServer {
  /** The parsed bodies of all requests so far; those that are not JSON are left out. */
  readonly requests: readonly Record<string, unknown>[]
  /** All requests so far. */
  readonly received: Received[]
  /** Sets the answer to requests from now on. */
  answer(script: Script): void
}

/**
 * A provider whose answers a test writes byte by byte, for cases without a recording. `forgets`: each new script also
 * clears the received requests.
 */
export async function startScriptedUpstream({ forgets = false } = {}): Promise<ScriptedUpstream> {
  const requests: Record<string, unknown>[] = []
  const received: Received[] = []
  let count = 0
  let script: Script = (response) => response.writeHead(500).end()
  const { url, close } = await listen((response, request) => {
    received.push(request)
    // The server under test wrote it.
    if (request.json !== undefined) requests.push(request.json as Record<string, unknown>)
    if (request.method === 'POST') count += 1
    script(response, request, count - 1)
  })
  return {
    url,
    close,
    requests,
    received,
    answer: (next) => {
      if (forgets) requests.length = received.length = 0
      count = 0
      script = next
    },
  }
}

/** Streams a chat answer of `words` words, then breaks the connection or sends nothing more. */
export function breaksAfter(words: number, how: 'cut' | 'stall'): Script {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      'data: {"id":"c","choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'.repeat(words) || ': begun\n\n',
      () => {
        if (how === 'cut') response.socket?.destroy()
      },
    )
  }
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** A script that answers with JSON. */
export function answers(body: unknown, status = 200): (response: ServerResponse) => void {
  return (response) => sendJson(response, body, status)
}
