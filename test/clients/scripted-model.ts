import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PROTOCOLS, type Answered, type Asked, type ModelProtocol } from './model-protocols.ts'

export type Script = (asked: Asked) => Answered

/** A provider with four protocols; a script makes the answer of its model from the conversation, in small pieces. */
export class ScriptedModel {
  readonly url: string
  /** Answers that were sent in full. */
  answers = 0
  readonly asked: { readonly path: string; readonly asked: Asked }[] = []
  script: Script = () => ({ text: 'Hello.' })
  /** Refuses the next requests instead, with this status and body. */
  refusal: { readonly status: number; readonly body: unknown } | null = null
  readonly #close: () => Promise<void>

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url
    this.#close = close
  }

  static async start(): Promise<ScriptedModel> {
    const server = createServer((request, response) => void answer(model, request, response))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    // A TCP server's address is an object.
    const { port } = server.address() as AddressInfo
    const model = new ScriptedModel(`http://127.0.0.1:${port}`, async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    })
    return model
  }

  close(): Promise<void> {
    return this.#close()
  }
}

async function answer(model: ScriptedModel, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const path = request.url ?? ''
  const protocol = PROTOCOLS.find(({ handles }) => handles(path))
  if (protocol === undefined || request.method !== 'POST') return void response.writeHead(404).end('{}')
  if (model.refusal !== null) return sendJson(response, model.refusal.status, model.refusal.body)
  // Written by the server under test.
  const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as Record<string, unknown>
  const asked = protocol.read(body, path)
  model.asked.push({ path, asked })
  send(protocol, response, model.script(asked), asked.stream)
  response.once('finish', () => {
    model.answers += 1
  })
}

function send(protocol: ModelProtocol, response: ServerResponse, answered: Answered, stream: boolean): void {
  if (!stream) return sendJson(response, 200, protocol.whole(answered))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of protocol.events(answered)) response.write(event)
  response.end()
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
