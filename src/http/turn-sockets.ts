import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { ApiError } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import type { BodyHold } from './body-budget.ts'
import type { SocketShares } from './socket-shares.ts'
import { TurnMemory } from './edge.ts'
import { TurnSocket } from './turn-socket.ts'

/** As large as a body may be. */
const MESSAGE_BYTES_MAX = 10 * 1_048_576

/** A message of a WebSocket, with what its route leaves for the next one. */
export interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly bytes: Buffer
  readonly hold: BodyHold
  readonly memory: TurnMemory
}

export interface TurnSocketsPorts {
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

  /** Its request was let through. */
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

/** Why a request for a WebSocket is none; null = it is one. */
export function handshakeRefusal({ headers }: IncomingMessage): ApiError | null {
  if (headers['sec-websocket-version'] !== '13')
    return new ApiError('invalid_input', 'Sec-WebSocket-Version: must be 13')
  return /^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')
    ? null
    : new ApiError('invalid_input', 'Sec-WebSocket-Key: must be 16 bytes in base64')
}

/** For the refusal of a handshake, after which the connection ends. */
export function handshakeResponse(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  // Node hands the connection itself over, typed as any stream.
  response.assignSocket(socket as Socket)
  response.once('finish', () => socket.end())
  socket.on('error', () => undefined)
  return response
}
