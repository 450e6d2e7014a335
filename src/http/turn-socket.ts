import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { Clock } from '../lib/clock.ts'
import type { BodyHold } from './body-budget.ts'
import { TurnPipe } from './turn-pipe.ts'
import { UnreadMessages } from './unread-messages.ts'

/** How long a socket lives, as at OpenAI. */
const LIFE_MS = 60 * 60_000
const TICK_MS = 20_000
/** From the first byte of a message to its last. */
const MESSAGE_MS = 120_000
/** Pings and pongs between two ticks: beyond this they are a flood. */
const CONTROLS_MAX = 1_000
/** The most that may wait to be sent while the client sends more. */
const UNREAD_BYTES_MAX = 1_048_576
/** With the mask of a client. */
const CONTROL_HEAD_BYTES = 6
/** Messages that wait for the turn that runs. */
const WAITING_MAX = 4

const GOING_AWAY = 1_001
const NOT_TEXT = 1_003
const POLICY = 1_008

/** The messages of one WebSocket: each is a turn, and they run one after another (clients.md 3). */
export interface TurnSocketPorts {
  readonly clock: Clock
  /** Counts the bytes of one message while it arrives and is read. */
  readonly hold: () => BodyHold
  /** Answers a turn as if it were a request; what it sends goes to `response`. */
  readonly turn: (message: Buffer, hold: BodyHold, response: ServerResponse) => void
  /** The turn that runs keeps the connection from being taken for an idle one. */
  readonly busy: (is: boolean) => void
  readonly closed: () => void
}

interface Message {
  readonly bytes: Buffer
  readonly hold: BodyHold
}

export class TurnSocket {
  readonly #ports: TurnSocketPorts
  readonly #request: IncomingMessage
  readonly #socket: WebSocket
  readonly #unread: UnreadMessages
  readonly #endsMs: number
  #waiting: Message[] = []
  #running: TurnPipe | null = null
  #hold: BodyHold | null = null
  #receivingSinceMs: number | null = null
  /** Since the end of the last message, but for pings and pongs. */
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
    // Before the library reads the same bytes, and tells of the message that they end.
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

  /** Lets the running turn end, and takes no more. */
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
    // Its end is the end of the pipe.
    response.useChunkedEncodingByDefault = false
    // It has all of a socket that a response uses.
    response.assignSocket(pipe as unknown as Socket)
    response.once('finish', () => pipe.end(() => pipe.destroy()))
    // Node passes this on only for the sockets that it accepted itself.
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

  /** Its own bytes belong to no message. `isAsked`: we have caused it. */
  #control(data: Buffer, isAsked = false): void {
    if (!isAsked) this.#controls += 1
    this.#receivedBytes -= CONTROL_HEAD_BYTES + data.length
    if (this.#receivedBytes <= 0) this.#nothingComes()
    if (this.#controls > CONTROLS_MAX) this.#socket.terminate()
  }

  /** No message has begun. */
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

function ignore(): void {
  return undefined
}
