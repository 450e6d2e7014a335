import { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Breakable } from './break-connection.ts'

/** More than this of what is sent waits in the socket: the answer is paused. */
const WAITING_BYTES_MAX = 262_144
const HEAD_END = Buffer.from('\r\n\r\n')
const EVENT_END = Buffer.from('\n\n')
const DATA = 'data: '
/** Headers that tell the sender of a refused turn something. */
const TOLD = /^(?:retry-after|x-should-retry|x-request-id|x-generation-id|x-ratelimit-.*)$/
const NOTHING = Buffer.alloc(0)

/**
 * Stands in for the connection of one turn's response: what HTTP would send becomes the messages of a WebSocket. Events
 * become messages, and an error becomes one message `{type: "error", status, error, headers}`.
 */
export class TurnPipe extends Duplex implements Breakable {
  readonly #socket: WebSocket
  #pending: Buffer = NOTHING
  #head: ResponseHead | null = null

  constructor(socket: WebSocket) {
    super({ decodeStrings: true, allowHalfOpen: true })
    this.#socket = socket
  }

  breaks(): void {
    this.#socket.terminate()
    this.destroy()
  }

  /** A turn has no connection of its own to keep alive or to time out. */
  setTimeout(): this {
    return this
  }

  override _read(): void {
    return undefined
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    this.#head ??= this.#takeHead()
    if (this.#head?.isStream === true) this.#sendEvents(done)
    else done()
  }

  /** The body of an error has come whole. */
  override _final(done: (error?: Error | null) => void): void {
    const head = this.#head
    if (head === null || head.isStream) return done()
    this.#socket.send(errorMessage(head, this.#pending), () => done())
  }

  #takeHead(): ResponseHead | null {
    const end = this.#pending.indexOf(HEAD_END)
    if (end === -1) return null
    const head = headOf(this.#pending.toString('latin1', 0, end))
    this.#pending = this.#pending.subarray(end + HEAD_END.length)
    return head
  }

  #sendEvents(done: (error?: Error | null) => void): void {
    let sent = false
    for (let end = this.#pending.indexOf(EVENT_END); end !== -1; end = this.#pending.indexOf(EVENT_END)) {
      const message = dataOf(this.#pending.toString('utf8', 0, end))
      this.#pending = this.#pending.subarray(end + EVENT_END.length)
      if (message === null) continue
      sent = true
      const isLast = this.#pending.length === 0 && this.#socket.bufferedAmount > WAITING_BYTES_MAX
      // A client that does not read pauses the answer; one that has gone ends it by the close of the socket.
      this.#socket.send(message, isLast ? () => done() : ignore)
      if (isLast) return
    }
    if (sent) setImmediate(done)
    else done()
  }
}

interface ResponseHead {
  readonly status: number
  readonly isStream: boolean
  readonly headers: Readonly<Record<string, string>>
}

/** Written by our own server a moment ago. */
function headOf(text: string): ResponseHead {
  const [first = '', ...lines] = text.split('\r\n')
  const headers: Record<string, string> = {}
  let type = ''
  for (const line of lines) {
    const at = line.indexOf(': ')
    const name = line.slice(0, at).toLowerCase()
    if (name === 'content-type') type = line.slice(at + 2)
    if (TOLD.test(name)) headers[name] = line.slice(at + 2)
  }
  return { status: Number(first.split(' ')[1]), isStream: type.startsWith('text/event-stream'), headers }
}

function dataOf(event: string): string | null {
  const line = event.split('\n').find((text) => text.startsWith(DATA))
  return line === undefined ? null : line.slice(DATA.length)
}

/** Codes are words over a socket: its clients read no numbers there. */
function errorMessage({ status, headers }: ResponseHead, body: Buffer): string {
  // Our own error body: always an object with `error`.
  const { error } = JSON.parse(body.toString('utf8')) as {
    error: { code: unknown; metadata?: { error_type?: unknown } }
  }
  const code = typeof error.code === 'string' ? error.code : String(error.metadata?.error_type)
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  return JSON.stringify({ type: 'error', status, error: { type, ...error, code }, headers })
}

function ignore(): void {
  return undefined
}
