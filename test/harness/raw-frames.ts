import { connect, type Socket } from 'node:net'
import { until } from './patience.ts'

/** A connection that has been upgraded, for frames that a client of the library would not send. */
export class RawSocket {
  readonly socket: Socket
  /** The code of the server's close frame when the connection has ended; null = it has sent none. */
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

  /** `more`: lines of the handshake. */
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

  /** Frames of a server are not masked. */
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

/** `length`: the length that it announces. */
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
