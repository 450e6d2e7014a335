import type { Clock } from '../../base/clock.ts'
import { HOUR_MS } from '../../base/time.ts'
import type { FarStreams } from '../../pay/paid/resumed-streams.ts'
import type { ClientStream } from '../../pay/relay/client-end.ts'
import type { CopyStream, StreamCopy } from '../../pay/relay/event-buffer.ts'
import { type ValkeyPorts, script } from './client.ts'
import type { NodeCipher } from './node-cipher.ts'
import type { StreamMessages } from './stream-messages.ts'

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

/** Events within this time share one write. */
const GATHER_MS = 50
/** The copy of a dead node's stream disappears after this time; a living node renews it. */
const RUNNING_MS = 15_000
const RENEW_MS = 5_000
/** An index row outlives the longest stream and its retention; when the copy is gone, the row leads nowhere. */
const INDEX_MS = 2 * HOUR_MS

/** The time after which a write without an answer is repeated. */
const RETRY_MS = 250

/**
 * Appends if the copy has the length that the writer expects. If it is longer by exactly these bytes, it has them: the
 * answer to the same write was late. Any other length means that bytes were lost, and the copy is deleted.
 */
const APPEND = script(`
local length, known = redis.call('STRLEN', KEYS[1]), tonumber(ARGV[1])
if length == known then
  redis.call('APPEND', KEYS[1], ARGV[2])
elseif length ~= known + #ARGV[2] then
  redis.call('DEL', KEYS[1], KEYS[2])
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
return 1`)

const NOTHING = Buffer.alloc(0)

/** The length before each frame of a copy. */
const FRAME_HEAD_BYTES = 4

/**
 * These names differ from those of unencrypted copies, so that nodes of two versions do not take each other's copies
 * for broken ones.
 */
function copyKeys(generationId: string): readonly [string, string] {
  return [`tollgate:copy:{${generationId}}`, `tollgate:copy-state:{${generationId}}`]
}

/** Names under which a stream's generation id is found by the client's own id. */
function indexKeys(cipher: NodeCipher, owner: string, requestId: string): readonly [string, ...string[]] {
  const [first, ...rest] = cipher.names(`request ${owner} ${requestId}`).map((name) => `tollgate:request:${name}`)
  return [first ?? '', ...rest]
}

/** The purpose for which an index row is encrypted. */
function indexPurpose(owner: string, requestId: string): string {
  return `index ${owner} ${requestId}`
}

/** The purpose for which a frame is encrypted: its place in its stream. */
function frameOf(generationId: string, offset: number): string {
  return `stream ${generationId} ${offset}`
}

/** The state of a copy, stored beside its bytes. */
interface CopyRecord {
  readonly owner: string
  readonly state: CopyState
  /** The length of the copy. */
  readonly writtenBytes: number
}

function encryptState(cipher: NodeCipher, { owner, state, writtenBytes }: CopyRecord, generationId: string): Buffer {
  return cipher.encrypt(Buffer.from(`${owner} ${state} ${writtenBytes}`), `state ${generationId}`)
}

/** null = no node wrote it for this stream. */
function readState(cipher: NodeCipher, encrypted: Buffer, generationId: string): CopyRecord | null {
  const [owner, state, writtenBytes] = cipher.decrypt(encrypted, `state ${generationId}`)?.toString().split(' ') ?? []
  if (owner === undefined || (state !== 'running' && state !== 'whole' && state !== 'broken')) return null
  return { owner, state, writtenBytes: Number(writtenBytes) }
}

type CopyState = 'running' | 'whole' | 'broken'

/** The owner's side: copies the events of a resumable stream to Valkey. */
export class ValkeyCopy implements StreamCopy {
  readonly #ports: ValkeyPorts
  readonly #stream: Parameters<CopyStream>[0]
  #waiting: Buffer[] = []
  #writtenBytes = 0
  #state: CopyState = 'running'
  #ttlMs = RUNNING_MS
  #given = false
  #cancel: () => void = () => undefined
  /** Whether a write is under way: writes happen one after another. */
  #writing = false
  /** The frame of the write without an answer; empty = none. */
  #frame: Buffer = NOTHING
  /** The monotonic time of Valkey's last answer. */
  #answeredMs: number

  constructor(ports: ValkeyPorts, stream: Parameters<CopyStream>[0]) {
    this.#ports = ports
    this.#stream = stream
    this.#answeredMs = ports.clock.monotonic()
    void this.#writeIndex()
    // The copy is created before the first event, so that readers can wait for it.
    this.#writeIn(0)
  }

  append(bytes: Buffer): void {
    if (this.#given) return
    this.#waiting.push(bytes)
    if (!this.#writing && this.#waiting.length === 1) this.#writeIn(GATHER_MS)
  }

  drop(): void {
    if (this.#given) return
    this.#giveUp()
    void this.#ports.valkey.command('DEL', [...copyKeys(this.#stream.generationId)])
  }

  end(whole: boolean, retentionMs: number): void {
    this.#state = whole ? 'whole' : 'broken'
    this.#ttlMs = Math.max(1, retentionMs)
    if (!this.#given && !this.#writing) this.#writeIn(0)
  }

  #writeIn(delayMs: number): void {
    this.#cancel()
    this.#cancel = this.#ports.clock.after(delayMs, () => void this.#write())
  }

  async #writeIndex(): Promise<void> {
    const { owner, requestId, generationId } = this.#stream
    const written = await this.#ports.valkey.command('SET', [
      indexKeys(this.#ports.cipher, owner, requestId)[0],
      this.#ports.cipher.encrypt(Buffer.from(generationId), indexPurpose(owner, requestId)),
      'PX',
      INDEX_MS,
    ])
    if (written === null && this.#isHopeful()) this.#ports.clock.after(RETRY_MS, () => void this.#writeIndex())
  }

  async #write(): Promise<void> {
    const state = this.#state
    if (this.#frame.length === 0 && this.#waiting.length > 0) {
      this.#frame = this.#encryptFrame(Buffer.concat(this.#waiting))
      this.#waiting = []
    }
    this.#writing = true
    const { owner, generationId } = this.#stream
    const frameBytes = this.#frame.length
    const record = encryptState(
      this.#ports.cipher,
      { owner, state, writtenBytes: this.#writtenBytes + frameBytes },
      generationId,
    )
    const kept = await this.#ports.valkey.run(APPEND, copyKeys(generationId), [
      this.#writtenBytes,
      this.#frame,
      record,
      this.#ttlMs,
    ])
    this.#writing = false
    if (this.#given) return
    if (kept === null && this.#isHopeful()) return this.#writeIn(RETRY_MS)
    if (kept !== 1) return this.#giveUp()
    this.#answeredMs = this.#ports.clock.monotonic()
    this.#writtenBytes += frameBytes
    this.#frame = NOTHING
    if (this.#waiting.length > 0 || state !== this.#state) this.#writeIn(this.#state === 'running' ? GATHER_MS : 0)
    else if (state === 'running') this.#writeIn(RENEW_MS)
    else this.#given = true
  }

  #encryptFrame(bytes: Buffer): Buffer {
    const encrypted = this.#ports.cipher.encrypt(bytes, frameOf(this.#stream.generationId, this.#writtenBytes))
    const head = Buffer.alloc(FRAME_HEAD_BYTES)
    head.writeUInt32BE(encrypted.length)
    return Buffer.concat([head, encrypted])
  }

  /** Whether the bytes written so far may still exist. */
  #isHopeful(): boolean {
    return this.#ports.clock.monotonic() - this.#answeredMs < RUNNING_MS
  }

  #giveUp(): void {
    this.#given = true
    this.#waiting = []
    this.#frame = NOTHING
    this.#cancel()
  }
}
