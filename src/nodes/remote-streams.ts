import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import type { Reader } from '../relay/reader.ts'
import { copyKeys, indexKey } from './stream-copies.ts'
import type { StreamMessages } from './stream-messages.ts'
import { script, type Valkey } from './valkey.ts'

const READ_BYTES = 65_536
const POLL_MS = 100
const WATCH_MS = 2_000
const SILENCE_MS = 10_000
/** Valkey may be away for this long before a reader is cut off. */
const PATIENCE_MS = 5_000
const READERS_MAX = 500
const KEEP_ALIVE = Buffer.from(': PROCESSING\n\n')
const SEPARATOR = Buffer.from('\n\n')

const READ = script(`
local state = redis.call('GET', KEYS[2])
if not state then return { '', '' } end
return { state, redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[1] + ${READ_BYTES - 1}) }`)

interface Piece {
  /** Whose stream it is; empty = there is none, or none any more. */
  readonly accountId: string
  readonly state: string
  readonly bytes: Buffer
}

/** A client's end of a stream that another node runs. */
export interface FarClient {
  readonly reader: Reader
  /** Runs once, when the client has left. */
  onClose(left: () => void): void
  /** Runs whenever the client has room again. */
  onDrain(ready: () => void): void
}

export interface RemoteStreamPorts {
  readonly valkey: Valkey
  readonly messages: StreamMessages
  readonly clock: Clock
  readonly ids: IdSource
}

/** Streams of other nodes, read from their copies. */
export class RemoteStreams {
  readonly #ports: RemoteStreamPorts
  #readers = 0

  constructor(ports: RemoteStreamPorts) {
    this.#ports = ports
  }

  /** The generation id of a stream that can be resumed here; null = there is none. */
  async find(accountId: string, id: string): Promise<string | null> {
    if (this.#readers >= READERS_MAX) return null
    if ((await this.#read(id, 0))?.accountId === accountId) return id
    const found = await this.#ports.valkey.command('GET', [indexKey(accountId, id)])
    const generationId = Buffer.isBuffer(found) ? found.toString() : null
    if (generationId === null) return null
    return (await this.#read(generationId, 0))?.accountId === accountId ? generationId : null
  }

  /** Sends the events after number `after`, then what comes; resolves at the end, whatever it was. */
  async send(accountId: string, generationId: string, after: number, client: FarClient): Promise<void> {
    const name = this.#ports.ids.letters(16)
    const far = new FarStream(client, after, this.#ports.clock)
    let watchedMs = Number.NEGATIVE_INFINITY
    let answeredMs = this.#ports.clock.monotonic()
    this.#readers += 1
    try {
      while (!far.left) {
        const nowMs = this.#ports.clock.monotonic()
        if (nowMs - watchedMs >= WATCH_MS) {
          this.#ports.messages.watch(accountId, generationId, name)
          watchedMs = nowMs
        }
        const piece = await this.#read(generationId, far.offset)
        if (piece !== null) answeredMs = nowMs
        if (piece === null ? nowMs - answeredMs > PATIENCE_MS : piece.accountId === '') return far.breakOff()
        if (piece !== null && far.take(piece)) return
        await far.wait(piece?.bytes.length === READ_BYTES ? 0 : POLL_MS)
      }
      this.#ports.messages.leave(accountId, generationId, name)
    } finally {
      this.#readers -= 1
    }
  }

  /** null = no answer. */
  async #read(generationId: string, offset: number): Promise<Piece | null> {
    const answer = await this.#ports.valkey.run(READ, copyKeys(generationId), [offset])
    if (!Array.isArray(answer)) return null
    const [state, bytes] = answer.map((part) => (Buffer.isBuffer(part) ? part : Buffer.alloc(0)))
    const [accountId = '', word = ''] = (state ?? Buffer.alloc(0)).toString().split(' ')
    return { accountId, state: word, bytes: bytes ?? Buffer.alloc(0) }
  }
}

/** One client's progress in a copy. */
class FarStream {
  readonly #client: FarClient
  readonly #clock: Clock
  /** Events still to be left out. */
  #skip: number
  #carry = Buffer.alloc(0)
  #lastSentMs: number
  /** Set while the client has no room. */
  #room: (() => void) | null = null
  #waiting: Promise<void> | null = null
  offset = 0
  left = false

  constructor(client: FarClient, after: number, clock: Clock) {
    this.#client = client
    this.#clock = clock
    this.#skip = after
    this.#lastSentMs = clock.monotonic()
    client.onClose(() => {
      this.left = true
      this.#room?.()
    })
    client.onDrain(() => this.#room?.())
  }

  /** Sends what is new; true = that was the end. */
  take({ bytes, state }: Piece): boolean {
    this.offset += bytes.length
    const events = this.#after(bytes)
    const ends = state !== 'running' && bytes.length < READ_BYTES
    if (ends && state === 'whole') {
      this.#client.reader.end(events)
      return true
    }
    if (events.length > 0) this.#write(events)
    else if (this.#clock.monotonic() - this.#lastSentMs >= SILENCE_MS) this.#write(KEEP_ALIVE)
    if (ends) this.breakOff()
    return ends
  }

  breakOff(): void {
    this.#client.reader.reset()
  }

  /** Waits until it is worth looking again: for `delayMs`, and until the client has room. */
  async wait(delayMs: number): Promise<void> {
    if (this.#room === null && delayMs > 0) await new Promise<void>((resolve) => void this.#clock.after(delayMs, resolve))
    while (this.#waiting !== null && !this.left) await this.#waiting
  }

  #write(bytes: Buffer): void {
    this.#lastSentMs = this.#clock.monotonic()
    if (this.#client.reader.write(bytes)) return
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
