import type { CopyStream, StreamCopy } from '../../pay/relay/event-buffer.ts'
import type { NodeCipher } from './node-cipher.ts'
import { script, type ValkeyPorts } from './client.ts'
import { HOUR_MS } from '../../base/time.ts'

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
export const FRAME_HEAD_BYTES = 4

/**
 * These names differ from those of unencrypted copies, so that nodes of two versions do not take each other's copies
 * for broken ones.
 */
export function copyKeys(generationId: string): readonly [string, string] {
  return [`tollgate:copy:{${generationId}}`, `tollgate:copy-state:{${generationId}}`]
}

/** Names under which a stream's generation id is found by the client's own id. */
export function indexKeys(cipher: NodeCipher, owner: string, requestId: string): readonly [string, ...string[]] {
  const [first, ...rest] = cipher.names(`request ${owner} ${requestId}`).map((name) => `tollgate:request:${name}`)
  return [first ?? '', ...rest]
}

/** The purpose for which an index row is encrypted. */
export function indexPurpose(owner: string, requestId: string): string {
  return `index ${owner} ${requestId}`
}

/** The purpose for which a frame is encrypted: its place in its stream. */
export function frameOf(generationId: string, offset: number): string {
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
export function readState(cipher: NodeCipher, encrypted: Buffer, generationId: string): CopyRecord | null {
  const [owner, state, writtenBytes] = cipher.decrypt(encrypted, `state ${generationId}`)?.toString().split(' ') ?? []
  if (owner === undefined || (state !== 'running' && state !== 'whole' && state !== 'broken')) return null
  return { owner, state, writtenBytes: Number(writtenBytes) }
}

export type CopyState = 'running' | 'whole' | 'broken'

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
