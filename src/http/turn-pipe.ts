import { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Breakable } from './break-connection.ts'
import type { UnreadMessages } from './unread-messages.ts'

const HEAD_END = Buffer.from('\r\n\r\n')
const EVENT_END = Buffer.from('\n\n')
const LINE_END = 0x0a
const DATA = Buffer.from('data: ')
/** Headers that tell the sender of a refused turn something. */
const TOLD = /^(?:retry-after|x-should-retry|x-request-id|x-generation-id|x-ratelimit-.*)$/

/**
 * Stands in for the connection of one turn's response: what HTTP would send becomes the messages of a WebSocket. Events
 * become messages, and an error becomes one message `{type: "error", status, error, headers}`.
 */
export class TurnPipe extends Duplex implements Breakable {
  readonly #socket: WebSocket
  readonly #unread: UnreadMessages
  /** Of the head, of an event or of an error: joined once all have come. */
  #pieces: Buffer[] = []
  #head: ResponseHead | null = null

  constructor(socket: WebSocket, unread: UnreadMessages) {
    super({ decodeStrings: true, allowHalfOpen: true })
    this.#socket = socket
    this.#unread = unread
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
    const mayEndEvent = chunk.includes(EVENT_END) || (chunk[0] === LINE_END && this.#pieces.at(-1)?.at(-1) === LINE_END)
    this.#pieces.push(chunk)
    this.#head ??= this.#takeHead()
    if (this.#head?.isStream === true && mayEndEvent) this.#sendEvents(done)
    else done()
  }

  /** The body of an error has come whole. */
  override _final(done: (error?: Error | null) => void): void {
    const head = this.#head
    if (head === null || head.isStream) return done()
    this.#socket.send(errorMessage(head, Buffer.concat(this.#pieces)), () => done())
  }

  #takeHead(): ResponseHead | null {
    const bytes = Buffer.concat(this.#pieces)
    const end = bytes.indexOf(HEAD_END)
    this.#pieces = [end === -1 ? bytes : bytes.subarray(end + HEAD_END.length)]
    return end === -1 ? null : headOf(bytes.toString('latin1', 0, end))
  }

  /** A client that does not read pauses the answer; one that has gone ends it by the close of the socket. */
  #sendEvents(done: (error?: Error | null) => void): void {
    let bytes = Buffer.concat(this.#pieces)
    for (let end = bytes.indexOf(EVENT_END); end !== -1; end = bytes.indexOf(EVENT_END)) {
      const message = dataOf(bytes.subarray(0, end))
      bytes = bytes.subarray(end + EVENT_END.length)
      if (message !== null) this.#unread.send(message)
    }
    this.#pieces = bytes.length === 0 ? [] : [bytes]
    this.#unread.whenRead(done)
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

/** Our own events have one line of data. */
function dataOf(event: Buffer): Buffer | null {
  for (let start = 0; start < event.length;) {
    const found = event.indexOf(LINE_END, start)
    const end = found === -1 ? event.length : found
    if (event.subarray(start, start + DATA.length).equals(DATA)) return event.subarray(start + DATA.length, end)
    start = end + 1
  }
  return null
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
