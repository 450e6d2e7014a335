import { WebSocket } from 'ws'
import { connect, type Socket } from 'node:net'
import { until } from './patience.ts'

/** A connection that has been upgraded to WebSocket, for frames that a client library would not send. */
export class RawSocket {
  readonly socket: Socket
  /** The code of the server's close frame once the connection has ended; null = it sent none. */
  readonly closed: Promise<number | null>
  readonly #chunks: Buffer[] = []
  #start = 0

  private constructor(url: string) {
    const { hostname, port } = new URL(url)
    this.socket = connect(Number(port), hostname)
    this.socket.on('error', () => undefined)
    this.socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      if (this.#start > 0 && this.#code() !== null) this.socket.end()
    })
    this.closed = new Promise((resolve) => this.socket.on('close', () => resolve(this.#code())))
  }

  /** `more`: further lines of the handshake. */
  static async open(url: string, key: string, more = ''): Promise<RawSocket> {
    const raw = new RawSocket(url)
    raw.socket.write(
      `GET /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}\r\n`,
    )
    await until(5_000, 'it is open', () => raw.#bytes().includes('\r\n\r\n'))
    raw.#start = raw.#bytes().indexOf('\r\n\r\n') + 4
    return raw
  }

  send(...frames: readonly Buffer[]): void {
    for (const bytes of frames) this.socket.write(bytes)
  }

  /** The head of the answer to the handshake. */
  get head(): string {
    return this.#bytes().toString('latin1', 0, this.#start)
  }

  /** The texts of the server's frames so far. */
  get texts(): string {
    return this.#bytes().toString('utf8', this.#start)
  }

  /** The close code; frames of a server are not masked. */
  #code(): number | null {
    const bytes = this.#bytes()
    for (let at = this.#start; at + 4 <= bytes.length;) {
      const short = (bytes[at + 1] ?? 0) & 0x7f
      const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : bytes.readUInt32BE(at + 6)
      const payload = at + 2 + (short < 126 ? 0 : short === 126 ? 2 : 8)
      if (bytes[at] === 0x88) return length < 2 ? 1_005 : bytes.readUInt16BE(payload)
      at = payload + length
    }
    return null
  }

  #bytes(): Buffer {
    const [first = Buffer.alloc(0)] = this.#chunks
    if (this.#chunks.length > 1) this.#chunks.splice(0, Infinity, Buffer.concat(this.#chunks))
    return this.#chunks[0] ?? first
  }
}

/** `length`: the length that the frame announces. */
export function frame(first: number, payload: Buffer, { masked = true, length = payload.length } = {}): Buffer {
  const mask = Buffer.from([1, 2, 3, 4])
  const sizes =
    length < 126
      ? Buffer.from([length])
      : length < 65_536
        ? Buffer.from([126, length >> 8, length & 255])
        : Buffer.concat([Buffer.from([127]), bigEndian(length)])
  sizes[0] = (sizes[0] ?? 0) | (masked ? 0x80 : 0)
  const body = masked ? payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0)) : payload
  return Buffer.concat([Buffer.from([first]), sizes, masked ? mask : Buffer.alloc(0), body])
}

function bigEndian(length: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(length))
  return bytes
}

// What the server sent; the assertions of the tests are the type check.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** A WebSocket client of the Responses API. */
export class TurnClient {
  readonly socket: WebSocket
  readonly #messages: Json[] = []
  #wake: () => void = () => undefined
  /** The code with which the socket was closed. */
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

  /** Resolves when the server has read all that this client sent, its answers to pings included, or has closed. */
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
