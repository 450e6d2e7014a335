import type { Clock } from '../../base/clock.ts'
import type { FarStreams } from '../../pay/paid/resumed-streams.ts'
import type { ClientStream } from '../../pay/relay/client-end.ts'
import {
  copyKeys,
  FRAME_HEAD_BYTES,
  frameOf,
  indexKeys,
  indexPurpose,
  readState,
  type CopyState,
} from './stream-copies.ts'
import type { StreamMessages } from './stream-messages.ts'
import { script, type ValkeyPorts } from './client.ts'

const READ_BYTES = 65_536
/** The largest frame: far more than a stream's output in the time that one frame covers. */
const FRAME_BYTES_MAX = 4 * 1_048_576
const READ = script(`
local state = redis.call('GET', KEYS[2])
if not state then return { '', '' } end
return { state, redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[1] + ${READ_BYTES - 1}) }`)

const POLL_MS = 100
const WATCH_MS = 2_000
const SILENCE_MS = 10_000
/** How long Valkey may be away before a reader is cut off. */
const PATIENCE_MS = 5_000
const READERS_MAX = 500
/** A comment without a blank line, as in every numbered stream (wire.md C9). */
const KEEP_ALIVE = Buffer.from(': PROCESSING\n')
const SEPARATOR = Buffer.from('\n\n')

/** Streams on other nodes, read from their copies. */
export class RemoteStreams implements FarStreams {
  readonly #ports: ValkeyPorts
  readonly #messages: StreamMessages
  #readers = 0

  constructor(ports: ValkeyPorts, messages: StreamMessages) {
    this.#ports = ports
    this.#messages = messages
  }

  /** The generation id of a stream that can be resumed here; null = there is none. */
  async find(owner: string, id: string): Promise<string | null> {
    if (this.#readers >= READERS_MAX) return null
    if ((await this.#nameOf(id)) === owner) return id
    const { valkey, cipher } = this.#ports
    for (const key of indexKeys(cipher, owner, id)) {
      const found = await valkey.bytesOf(key)
      const generationId = found === null ? null : (cipher.decrypt(found, indexPurpose(owner, id))?.toString() ?? null)
      if (generationId !== null && (await this.#nameOf(generationId)) === owner) return generationId
    }
    return null
  }

  /**
   * Sends the events after number `after`, then new ones; resolves at the end of the stream or when the client leaves.
   * `open` commits the response.
   */
  async send(
    owner: string,
    generationId: string,
    after: number,
    open: (owner: FarStream) => ClientStream,
  ): Promise<void> {
    const name = this.#ports.ids.letters(16)
    const far = new FarStream(open, after, this.#ports.clock)
    const copy = new CopyReader(this.#ports, owner, generationId)
    let watchedMs = Number.NEGATIVE_INFINITY
    let answeredMs = this.#ports.clock.monotonic()
    this.#readers += 1
    try {
      while (!far.left) {
        const nowMs = this.#ports.clock.monotonic()
        if (nowMs - watchedMs >= WATCH_MS) {
          this.#messages.watch(owner, generationId, name)
          watchedMs = nowMs
        }
        const piece = await copy.next()
        if (piece !== null) answeredMs = nowMs
        if (piece === 'gone' || (piece === null && nowMs - answeredMs > PATIENCE_MS)) return far.breakOff()
        if (piece !== null && far.take(piece)) return
        await far.wait(piece?.more === true ? 0 : POLL_MS)
      }
      this.#messages.leave(owner, generationId, name)
    } finally {
      this.#readers -= 1
    }
  }

  /** The `reachName` of a copy; null = there is none, or no answer. */
  async #nameOf(generationId: string): Promise<string | null> {
    const encrypted = await this.#ports.valkey.bytesOf(copyKeys(generationId)[1])
    return encrypted === null ? null : (readState(this.#ports.cipher, encrypted, generationId)?.owner ?? null)
  }
}

/** One client's progress in a copy. */
class FarStream {
  readonly #client: ClientStream
  readonly #clock: Clock
  /** Events still to be skipped. */
  #skip: number
  #carry = Buffer.alloc(0)
  #lastSentMs: number
  /** Called when the client has room again; set while it has none. */
  #room: (() => void) | null = null
  #waiting: Promise<void> | null = null
  left = false

  constructor(open: (owner: FarStream) => ClientStream, after: number, clock: Clock) {
    this.#clock = clock
    this.#skip = after
    this.#lastSentMs = clock.monotonic()
    this.#client = open(this)
  }

  /** The client has room again. */
  drained(): void {
    this.#room?.()
  }

  /** The client has left. */
  detached(): void {
    this.left = true
    this.#room?.()
  }

  /** Sends the new events; true = the stream has ended. */
  take({ bytes, state, more }: Piece): boolean {
    const events = this.#after(bytes)
    const ends = state !== 'running' && !more
    if (ends && state === 'whole') {
      this.#client.end(events)
      return true
    }
    if (events.length > 0) this.#write(events)
    else if (this.#clock.monotonic() - this.#lastSentMs >= SILENCE_MS) this.#write(KEEP_ALIVE)
    if (ends) this.breakOff()
    return ends
  }

  breakOff(): void {
    this.#client.reset()
  }

  /** Waits for `delayMs`, and until the client has room. */
  async wait(delayMs: number): Promise<void> {
    if (this.#room === null && delayMs > 0)
      await new Promise<void>((resolve) => void this.#clock.after(delayMs, resolve))
    while (this.#waiting !== null && !this.left) await this.#waiting
  }

  #write(bytes: Buffer): void {
    this.#lastSentMs = this.#clock.monotonic()
    if (this.#client.write(bytes)) return
    this.#waiting = new Promise((resolve) => {
      this.#room = () => {
        this.#waiting = null
        this.#room = null
        resolve()
      }
    })
  }

  #after(bytes: Buffer): Buffer {
    if (this.#skip === 0 && this.#carry.length === 0) return bytes
    let rest = Buffer.concat([this.#carry, bytes])
    while (this.#skip > 0) {
      const end = rest.indexOf(SEPARATOR)
      if (end === -1) break
      rest = rest.subarray(end + SEPARATOR.length)
      this.#skip -= 1
    }
    this.#carry = this.#skip > 0 ? rest : Buffer.alloc(0)
    return this.#skip > 0 ? Buffer.alloc(0) : rest
  }
}

/** The new part of a copy. */
interface Piece {
  readonly bytes: Buffer
  readonly state: CopyState
  /** Whether more bytes can be read at once. */
  readonly more: boolean
}

/** Reads a copy frame by frame from its beginning to its end. */
class CopyReader {
  readonly #ports: ValkeyPorts
  readonly #owner: string
  readonly #generationId: string
  /** Bytes read so far, and the part of them that has been decrypted. */
  #readBytes = 0
  #openedBytes = 0
  #carry = Buffer.alloc(0)

  constructor(ports: ValkeyPorts, owner: string, generationId: string) {
    this.#ports = ports
    this.#owner = owner
    this.#generationId = generationId
  }

  /** null = no answer in time; `gone` = the copy no longer exists, or was not written by a node. */
  async next(): Promise<Piece | 'gone' | null> {
    const answer = await this.#ports.valkey.run(READ, copyKeys(this.#generationId), [this.#readBytes])
    if (!Array.isArray(answer)) return null
    const [encryptedState, bytes] = answer.map((part) => (Buffer.isBuffer(part) ? part : Buffer.alloc(0)))
    const state = readState(this.#ports.cipher, encryptedState ?? Buffer.alloc(0), this.#generationId)
    if (state === null || state.owner !== this.#owner || bytes === undefined) return 'gone'
    this.#readBytes += bytes.length
    const opened = this.#frames(bytes)
    const more = bytes.length === READ_BYTES
    // Bytes that no node has written, or a cut copy, are not the stream.
    if (opened === null || (!more && this.#openedBytes !== state.writtenBytes)) return 'gone'
    return { bytes: opened, state: state.state, more }
  }

  #frames(bytes: Buffer): Buffer | null {
    let rest = Buffer.concat([this.#carry, bytes])
    const opened: Buffer[] = []
    while (rest.length >= FRAME_HEAD_BYTES) {
      const length = rest.readUInt32BE(0)
      if (length > FRAME_BYTES_MAX) return null
      const end = FRAME_HEAD_BYTES + length
      if (rest.length < end) break
      const plain = this.#ports.cipher.decrypt(
        rest.subarray(FRAME_HEAD_BYTES, end),
        frameOf(this.#generationId, this.#openedBytes),
      )
      if (plain === null) return null
      opened.push(plain)
      this.#openedBytes += end
      rest = rest.subarray(end)
    }
    this.#carry = Buffer.copyBytesFrom(rest)
    return Buffer.concat(opened)
  }
}
