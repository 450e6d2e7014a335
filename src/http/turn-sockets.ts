import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { WebSocketServer, type WebSocket } from 'ws'
import { ApiError } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import type { BodyHold } from './body-budget.ts'
import type { SocketShares } from './socket-shares.ts'
import { TurnMemory } from './edge.ts'
import { ignore, type Breakable } from './slow-readers.ts'
import { randomBytes } from 'node:crypto'

/** A message may be as large as a body. */
const MESSAGE_BYTES_MAX = 10 * 1_048_576

/** A message of a WebSocket, with the memory that its route leaves for the next one. */
export interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly bytes: Buffer
  readonly hold: BodyHold
  readonly memory: TurnMemory
}

interface TurnSocketsPorts {
  readonly clock: Clock
  readonly shares: Pick<SocketShares, 'busy'>
  readonly turn: (turn: Turn) => void
}

/** The open WebSockets of the edge. Compression stays off: a small message could become a large one. */
export class TurnSockets {
  readonly #ports: TurnSocketsPorts
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MESSAGE_BYTES_MAX,
  })
  readonly #open = new Set<TurnSocket>()
  #closing = false

  constructor(ports: TurnSocketsPorts) {
    this.#ports = ports
  }

  /** Opens the WebSocket of a request that has passed the checks. */
  open(request: IncomingMessage, head: Buffer, hold: () => BodyHold, opened: () => void): void {
    const { socket } = request
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const memory = new TurnMemory()
      const { clock, shares, turn } = this.#ports
      const open = new TurnSocket(
        {
          clock,
          hold,
          turn: (bytes, held, response) => turn({ request, response, bytes, hold: held, memory }),
          busy: (is) => (is ? void shares.busy.add(socket) : void shares.busy.delete(socket)),
          closed: () => {
            this.#open.delete(open)
            memory.close()
          },
        },
        request,
        webSocket,
      )
      this.#open.add(open)
      opened()
      if (this.#closing) open.close()
    })
  }

  /** Lets running turns end. */
  close(): void {
    this.#closing = true
    for (const open of this.#open) open.close()
  }

  terminate(): void {
    for (const open of this.#open) open.terminate()
  }
}

/** Why a request cannot open a WebSocket; null = it can. */
export function handshakeRefusal({ headers }: IncomingMessage): ApiError | null {
  if (headers['sec-websocket-version'] !== '13')
    return new ApiError('invalid_input', 'Sec-WebSocket-Version: must be 13')
  return /^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')
    ? null
    : new ApiError('invalid_input', 'Sec-WebSocket-Key: must be 16 bytes in base64')
}

/** The response that refuses a handshake, after which the connection ends. */
export function handshakeResponse(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  // Node passes the connection as any stream, although it is a socket.
  response.assignSocket(socket as Socket)
  response.once('finish', () => socket.end())
  socket.on('error', () => undefined)
  return response
}

const HEAD_END = Buffer.from('\r\n\r\n')
const EVENT_END = Buffer.from('\n\n')
const LINE_END = 0x0a
const DATA = Buffer.from('data: ')
/** Headers of a refused turn that its sender gets. */
const TOLD = /^(?:retry-after|x-should-retry|x-request-id|x-generation-id|x-ratelimit-.*)$/

/**
 * Stands in for the connection of one turn's response: what HTTP would send becomes the messages of a WebSocket. Events
 * become messages, and an error becomes one message `{type: "error", status, error, headers}`.
 */
class TurnPipe extends Duplex implements Breakable {
  readonly #socket: WebSocket
  readonly #unread: UnreadMessages
  /** Pieces of the head, of an event or of an error, joined once all have come. */
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

  /** The body of an error is complete. */
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

  /** A client that does not read pauses the answer; one that has left closes the socket, which ends the answer. */
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

/** The head is one that our own server wrote a moment ago. */
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

/** The code of an error is a word over a socket: clients read no numbers there. */
function errorMessage({ status, headers }: ResponseHead, body: Buffer): string {
  // Our own error body: always an object with `error`.
  const { error } = JSON.parse(body.toString('utf8')) as {
    error: { code: unknown; metadata?: { error_type?: unknown } }
  }
  const code = typeof error.code === 'string' ? error.code : String(error.metadata?.error_type)
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  return JSON.stringify({ type: 'error', status, error: { type, ...error, code }, headers })
}

/** How long a socket lives, the same as at OpenAI. */
const LIFE_MS = 60 * 60_000
const TICK_MS = 20_000
/** The longest time from the first byte of a message to its last. */
const MESSAGE_MS = 120_000
/** The most pings and pongs between two ticks: more are a flood. */
const CONTROLS_MAX = 1_000
/** The most bytes that may wait to be sent while the client sends more. */
const UNREAD_BYTES_MAX = 1_048_576
/** The head of a ping or pong, with the mask that clients use. */
const CONTROL_HEAD_BYTES = 6
/** The most messages that wait for the running turn. */
const WAITING_MAX = 4
const GOING_AWAY = 1_001
const NOT_TEXT = 1_003
const POLICY = 1_008

/** The messages of one WebSocket: each is a turn, and they run one after another (clients.md 3). */
interface TurnSocketPorts {
  readonly clock: Clock
  /** Counts the bytes of one message while it arrives and is read. */
  readonly hold: () => BodyHold
  /** Handles a message as if it were a request; its answer goes to `response`. */
  readonly turn: (message: Buffer, hold: BodyHold, response: ServerResponse) => void
  /** Marks the connection as busy while a turn runs, so that it does not count as idle. */
  readonly busy: (is: boolean) => void
  readonly closed: () => void
}

interface Message {
  readonly bytes: Buffer
  readonly hold: BodyHold
}

class TurnSocket {
  readonly #ports: TurnSocketPorts
  readonly #request: IncomingMessage
  readonly #socket: WebSocket
  readonly #unread: UnreadMessages
  readonly #endsMs: number
  #waiting: Message[] = []
  #running: TurnPipe | null = null
  #hold: BodyHold | null = null
  #receivingSinceMs: number | null = null
  /** Bytes since the end of the last message, without pings and pongs. */
  #receivedBytes = 0
  #controls = 0
  #answered = true
  #closing = false
  #stopTick: () => void

  constructor(ports: TurnSocketPorts, request: IncomingMessage, socket: WebSocket) {
    this.#ports = ports
    this.#request = request
    this.#socket = socket
    this.#unread = new UnreadMessages(socket)
    this.#endsMs = ports.clock.monotonic() + LIFE_MS
    this.#stopTick = ports.clock.after(TICK_MS, () => this.#tick())
    // Counts the bytes before the library reads them and emits the message that they end.
    request.socket.prependListener('data', (chunk: Buffer) => this.#received(chunk.length))
    // A bad frame or a broken connection: `close` follows.
    socket.on('error', ignore)
    socket.on('message', (data, isBinary) => this.#message(data, isBinary))
    socket.on('ping', (data) => this.#control(data))
    socket.on('pong', (data) => {
      this.#answered = true
      this.#control(data, this.#unread.answered(data))
    })
    socket.on('close', () => this.#closed())
  }

  /** Lets the running turn end, and accepts no more. */
  close(): void {
    this.#closing = true
    this.#drop()
    if (this.#running === null) this.#socket.close(GOING_AWAY, 'The server is shutting down')
  }

  terminate(): void {
    this.#socket.terminate()
  }

  #received(bytes: number): void {
    this.#receivingSinceMs ??= this.#ports.clock.monotonic()
    this.#receivedBytes += bytes
    this.#hold ??= this.#ports.hold()
    if (this.#hold.take(bytes) !== null || this.#socket.bufferedAmount > UNREAD_BYTES_MAX) this.#socket.terminate()
  }

  #message(data: unknown, isBinary: boolean): void {
    const hold = this.#hold ?? this.#ports.hold()
    this.#hold = null
    this.#nothingComes()
    if (isBinary || !Buffer.isBuffer(data)) {
      hold.release()
      return this.#socket.close(NOT_TEXT, 'Messages are text')
    }
    if (this.#closing) return hold.release()
    if (this.#waiting.length >= WAITING_MAX) {
      hold.release()
      return this.#socket.close(POLICY, `Turns run one after another, and ${WAITING_MAX} wait already`)
    }
    this.#waiting.push({ bytes: data, hold })
    this.#next()
  }

  #next(): void {
    const [message] = this.#waiting
    if (this.#running !== null || message === undefined) return
    if (this.#ports.clock.monotonic() >= this.#endsMs) return this.#expire()
    this.#waiting.shift()
    const pipe = new TurnPipe(this.#socket, this.#unread)
    this.#running = pipe
    this.#ports.busy(true)
    const response = new ServerResponse(this.#request)
    response.shouldKeepAlive = false
    // The end of the response is the end of the pipe.
    response.useChunkedEncodingByDefault = false
    // The pipe has all members of a socket that a response uses.
    response.assignSocket(pipe as unknown as Socket)
    response.once('finish', () => pipe.end(() => pipe.destroy()))
    // Node forwards this event only for sockets that it accepted itself.
    pipe.on('drain', () => {
      if (!response.writableEnded) response.emit('drain')
    })
    pipe.once('close', () => this.#ended())
    this.#ports.turn(message.bytes, message.hold, response)
  }

  #ended(): void {
    this.#running = null
    this.#ports.busy(false)
    if (this.#closing) return this.#socket.close(GOING_AWAY, 'The server is shutting down')
    if (this.#ports.clock.monotonic() >= this.#endsMs) return this.#expire()
    this.#next()
  }

  #expire(): void {
    this.#closing = true
    this.#drop()
    const error = {
      type: 'invalid_request_error',
      code: 'websocket_connection_limit_reached',
      message: 'Responses websocket connection limit reached (60 minutes). Open a new connection to continue.',
    }
    this.#socket.send(JSON.stringify({ type: 'error', status: 400, error, headers: {} }), ignore)
    this.#socket.close(1_000, 'The connection has lived for 60 minutes')
  }

  /** Takes out the bytes of a ping or pong, which belong to no message. `isAsked`: it answers a ping of ours. */
  #control(data: Buffer, isAsked = false): void {
    if (!isAsked) this.#controls += 1
    this.#receivedBytes -= CONTROL_HEAD_BYTES + data.length
    if (this.#receivedBytes <= 0) this.#nothingComes()
    if (this.#controls > CONTROLS_MAX) this.#socket.terminate()
  }

  /** No message is under way. */
  #nothingComes(): void {
    this.#receivingSinceMs = null
    this.#receivedBytes = 0
    this.#hold?.release()
    this.#hold = null
  }

  #tick(): void {
    this.#stopTick = this.#ports.clock.after(TICK_MS, () => this.#tick())
    this.#controls = 0
    const nowMs = this.#ports.clock.monotonic()
    const isSlow = this.#receivingSinceMs !== null && nowMs - this.#receivingSinceMs >= MESSAGE_MS
    if (!this.#answered || isSlow) return this.#socket.terminate()
    if (nowMs >= this.#endsMs && this.#running === null && !this.#closing) return this.#expire()
    this.#answered = false
    this.#socket.ping()
  }

  #closed(): void {
    this.#stopTick()
    this.#drop()
    this.#nothingComes()
    this.#running?.destroy()
    this.#ports.closed()
  }

  #drop(): void {
    for (const { hold } of this.#waiting) hold.release()
    this.#waiting = []
  }
}

/** While a client has more than this left to read, its answer is paused. */
const PAUSED_BYTES = 131_072
/** At half of that a ping asks what the client has read, so that the answer never pauses for a client that reads. */
const ASK_BYTES = PAUSED_BYTES / 2
/** The length of a ping's random mark: a client cannot answer a ping that it has not read. */
const MARK_BYTES = 8

/**
 * The messages to one client that it may not have read yet. The system's buffers accept megabytes for a client that has
 * stopped reading, and its whole answer so far stays in memory meanwhile. But a client answers a ping only after it has
 * read the messages before it.
 */
export class UnreadMessages {
  readonly #socket: WebSocket
  #bytes = 0
  #asked: { readonly mark: Buffer; readonly bytes: number } | null = null
  #onRead: (() => void) | null = null

  constructor(socket: WebSocket) {
    this.#socket = socket
  }

  send(message: Buffer): void {
    this.#bytes += message.length
    this.#socket.send(message, { binary: false }, ignore)
    this.#ask()
  }

  /** Calls back once the client has read enough to get more; never after the socket has closed. */
  whenRead(then: () => void): void {
    if (this.#bytes > PAUSED_BYTES) this.#onRead = then
    else setImmediate(then)
  }

  /** Whether the pong answers one of our marks. */
  answered(mark: Buffer): boolean {
    if (this.#asked?.mark.equals(mark) !== true) return false
    this.#bytes -= this.#asked.bytes
    this.#asked = null
    this.#ask()
    const then = this.#onRead
    if (then !== null && this.#bytes <= PAUSED_BYTES) {
      this.#onRead = null
      then()
    }
    return true
  }

  #ask(): void {
    if (this.#asked !== null || this.#bytes < ASK_BYTES) return
    this.#asked = { mark: randomBytes(MARK_BYTES), bytes: this.#bytes }
    this.#socket.ping(this.#asked.mark, undefined, ignore)
  }
}
