import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Bag, type BagItem } from '../base/bag.ts'
import type { Clock } from '../base/clock.ts'

/** A client that reads nothing for this long counts as dead (guarantees.md F41). */
export const STALL_MS = 60_000
export const SWEEP_MS = 5_000
/** The pace that a client must keep while others wait for memory: a slow line has 256 kB/s. */
const BYTES_PER_MS_MIN = 256

/** Counts the bytes of replies that wait for their clients. */
export interface ReplyRoom {
  /** Counts the bytes; returns the function that frees the room. */
  unsent(bytes: number): () => void
  /** Whether others wait for room. */
  readonly isWanted: boolean
}

/** Counts nothing. */
export const ROOMY: ReplyRoom = { unsent: () => () => undefined, isWanted: false }

/** Whether a client has held so many bytes for too long to keep them when others wait for memory. */
export function isTooSlow(bytes: number, sinceMs: number, nowMs: number): boolean {
  return nowMs - sinceMs > STALL_MS + bytes / BYTES_PER_MS_MIN
}

interface ReadingClient {
  takenBytes: number
  /** Monotonic ms since which the client has read nothing, or has had nothing to read. */
  sinceMs: number
}

interface Reply extends BagItem {
  readonly response: ServerResponse
  readonly bytes: number
  readonly sinceMs: number
}

export interface SlowReaderPorts {
  readonly clock: Clock
  readonly room: ReplyRoom
}

/**
 * Breaks the connections of clients that do not read what is written to them: a reply, its last bytes, an error, a
 * stream, a file. One timer checks all of them.
 */
export class SlowReaders {
  readonly #ports: SlowReaderPorts
  readonly #open = new Map<Socket, ReadingClient>()
  readonly #replies = new Bag<Reply>()
  #stopTimer: (() => void) | null = null

  constructor(ports: SlowReaderPorts) {
    this.#ports = ports
  }

  add(socket: Socket): void {
    this.#open.set(socket, { takenBytes: 0, sinceMs: this.#ports.clock.monotonic() })
    socket.once('close', () => this.#forget(socket))
    if (this.#stopTimer === null) this.#tick()
  }

  /** A reply waits for its client: its bytes are counted until they are sent or the client has left. */
  hold(response: ServerResponse, bytes: number): void {
    const { clock, room } = this.#ports
    const giveBack = room.unsent(bytes)
    const reply: Reply = { bagPlace: 0, response, bytes, sinceMs: clock.monotonic() }
    this.#replies.add(reply)
    response.once('close', () => {
      this.#replies.delete(reply)
      giveBack()
    })
  }

  #forget(socket: Socket): void {
    this.#open.delete(socket)
    if (this.#open.size > 0) return
    this.#stopTimer?.()
    this.#stopTimer = null
  }

  #tick(): void {
    this.#stopTimer = this.#ports.clock.after(SWEEP_MS, () => {
      this.#tick()
      const nowMs = this.#ports.clock.monotonic()
      for (const [socket, reader] of this.#open) look(socket, reader, nowMs)
      if (this.#ports.room.isWanted) this.#hurry(nowMs)
    })
  }

  /**
   * Cuts off clients whose replies are too slow: a client that reads one byte a minute must not occupy room that others
   * wait for.
   */
  #hurry(nowMs: number): void {
    for (const { response, bytes, sinceMs } of this.#replies) {
      const { socket } = response
      if (socket !== null && isTooSlow(bytes, sinceMs, nowMs)) breakConnection(socket)
    }
  }
}

function look(socket: Socket, reader: ReadingClient, nowMs: number): void {
  const waitingBytes = socket.writableLength
  const takenBytes = waitingBytes === 0 ? 0 : socket.bytesWritten - waitingBytes
  if (waitingBytes === 0 || takenBytes !== reader.takenBytes) {
    reader.takenBytes = takenBytes
    reader.sinceMs = nowMs
  } else if (nowMs - reader.sinceMs >= STALL_MS) breakConnection(socket)
}

/** Stands in for a connection, and can break it. */
export interface Breakable {
  breaks(): void
}

/**
 * Breaks a connection with RST, so that a cut answer does not look complete (wire.md C2). A socket whose FIN has
 * been sent cannot be reset: Node would neither close it nor report it, and it would stay open.
 */
export function breakConnection(socket: Socket & Partial<Breakable>): void {
  if (socket.breaks !== undefined) return socket.breaks()
  const { writableEnded, writableFinished, writableLength } = socket
  const finIsOnItsWay = writableEnded && !writableFinished && writableLength === 0
  if (finIsOnItsWay) socket.destroy()
  // oxlint-disable-next-line eslint/no-restricted-properties -- the only place, which checks for a FIN first
  else socket.resetAndDestroy()
}

/** Handles an `error` event of a socket whose `close` event follows anyway. */
export function ignore(): void {
  return undefined
}
