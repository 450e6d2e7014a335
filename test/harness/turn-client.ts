import { WebSocket } from 'ws'

// What the server sent; the assertions of the tests are the type check.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** A client of the WebSocket of Responses. */
export class TurnClient {
  readonly socket: WebSocket
  readonly #messages: Json[] = []
  #wake: () => void = () => undefined
  /** The code that it was closed with. */
  readonly closed: Promise<number>

  constructor(socket: WebSocket) {
    this.socket = socket
    this.closed = new Promise((resolve) => {
      socket.on('close', (code) => {
        resolve(code)
        this.#wake()
      })
    })
    socket.on('error', () => undefined)
    socket.on('message', (data: Buffer) => {
      this.#messages.push(JSON.parse(data.toString('utf8')))
      this.#wake()
    })
  }

  static open(
    url: string,
    headers: Readonly<Record<string, string>>,
    options: { readonly autoPong?: boolean; readonly ca?: Buffer } = {},
  ): Promise<TurnClient> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers, ...options })
    const client = new TurnClient(socket)
    return new Promise((resolve, reject) => {
      socket.once('open', () => resolve(client))
      socket.once('unexpected-response', (_request, response) => {
        response.setEncoding('utf8')
        let text = ''
        response.on('data', (chunk: string) => (text += chunk))
        response.on('end', () => reject(new RefusedHandshake(response.statusCode ?? 0, text)))
      })
      socket.once('error', reject)
    })
  }

  send(body: Readonly<Record<string, unknown>>): void {
    this.socket.send(JSON.stringify({ type: 'response.create', model: 'test/sandbox', ...body }))
  }

  /** Resolves when the server has read whatever this client had sent, its answers to pings included, or has closed. */
  async heard(): Promise<void> {
    for (const _turn of ['its pings are here', 'our pongs are there']) {
      if (this.socket.readyState !== WebSocket.OPEN) return
      await new Promise<void>((resolve) => {
        this.socket.once('pong', () => resolve())
        this.socket.once('close', () => resolve())
        this.socket.ping()
      })
    }
  }

  /** The next message; null = the socket has closed. */
  async next(): Promise<Json> {
    for (;;) {
      if (this.#messages.length > 0) return this.#messages.shift()
      if (this.socket.readyState === WebSocket.CLOSED) return null
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  /** The messages of one turn, up to its end or its error. */
  async turn(body: Readonly<Record<string, unknown>>): Promise<readonly Json[]> {
    this.send(body)
    return this.rest()
  }

  async rest(): Promise<readonly Json[]> {
    const events: Json[] = []
    for (;;) {
      const event = await this.next()
      if (event === null) return events
      events.push(event)
      if (event.type === 'error' || /^response\.(?:completed|failed|incomplete|cancelled)$/.test(event.type))
        return events
    }
  }
}

export class RefusedHandshake extends Error {
  readonly status: number
  readonly text: string

  constructor(status: number, text: string) {
    super(`The handshake was answered ${status}: ${text}`)
    this.status = status
    this.text = text
  }
}
