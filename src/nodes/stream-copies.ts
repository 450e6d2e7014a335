import type { Clock } from '../lib/clock.ts'
import type { SharedStreams, StreamCopy } from '../relay/shared-streams.ts'
import { script, type Valkey } from './valkey.ts'

/** Events of this long share one write. */
const GATHER_MS = 50
/** The copy of a stream whose node has died is gone after this; a living one renews it. */
const RUNNING_MS = 15_000
const RENEW_MS = 5_000
/** An index row outlives the longest stream and its retention; it leads nowhere when the copy is gone. */
const INDEX_MS = 2 * 3_600_000

/** Appends where the copy is as long as the writer believes. Any other length means that something is lost: then nothing is kept. */
const APPEND = script(`
if redis.call('STRLEN', KEYS[1]) ~= tonumber(ARGV[1]) then
  redis.call('DEL', KEYS[1], KEYS[2])
  return 0
end
redis.call('APPEND', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
return 1`)

export function copyKeys(generationId: string): readonly [string, string] {
  return [`tollgate:stream:{${generationId}}`, `tollgate:state:{${generationId}}`]
}

export function indexKey(accountId: string, requestId: string): string {
  return `tollgate:request:${accountId} ${requestId}`
}

type CopyState = 'running' | 'whole' | 'broken'

/** The owner's side: copies what its resumable streams say into Valkey. */
export class StreamCopies implements SharedStreams {
  readonly #valkey: Valkey
  readonly #clock: Clock

  constructor(valkey: Valkey, clock: Clock) {
    this.#valkey = valkey
    this.#clock = clock
  }

  copy(stream: Parameters<SharedStreams['copy']>[0]): StreamCopy {
    return new ValkeyCopy(this.#valkey, this.#clock, stream)
  }
}

class ValkeyCopy implements StreamCopy {
  readonly #valkey: Valkey
  readonly #clock: Clock
  readonly #stream: Parameters<SharedStreams['copy']>[0]
  #waiting: Buffer[] = []
  #writtenBytes = 0
  #state: CopyState = 'running'
  #ttlMs = RUNNING_MS
  #given = false
  #cancel: () => void = () => undefined
  /** Writes follow one another. */
  #writing = false

  constructor(valkey: Valkey, clock: Clock, stream: Parameters<SharedStreams['copy']>[0]) {
    this.#valkey = valkey
    this.#clock = clock
    this.#stream = stream
    const { accountId, requestId, generationId } = stream
    void valkey.command('SET', [indexKey(accountId, requestId), generationId, 'PX', INDEX_MS])
    // A copy that is there before its first event can be waited at.
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
    void this.#valkey.command('DEL', [...copyKeys(this.#stream.generationId)])
  }

  end(whole: boolean, retentionMs: number): void {
    this.#state = whole ? 'whole' : 'broken'
    this.#ttlMs = Math.max(1, retentionMs)
    if (!this.#given && !this.#writing) this.#writeIn(0)
  }

  #writeIn(delayMs: number): void {
    this.#cancel()
    this.#cancel = this.#clock.after(delayMs, () => void this.#write())
  }

  async #write(): Promise<void> {
    const bytes = Buffer.concat(this.#waiting)
    const state = this.#state
    this.#waiting = []
    this.#writing = true
    const { accountId, generationId } = this.#stream
    const kept = await this.#valkey.run(APPEND, copyKeys(generationId), [this.#writtenBytes, bytes, `${accountId} ${state}`, this.#ttlMs])
    this.#writing = false
    if (this.#given) return
    if (kept !== 1) return this.#giveUp()
    this.#writtenBytes += bytes.length
    if (this.#waiting.length > 0 || state !== this.#state) this.#writeIn(this.#state === 'running' ? GATHER_MS : 0)
    else if (state === 'running') this.#writeIn(RENEW_MS)
  }

  #giveUp(): void {
    this.#given = true
    this.#waiting = []
    this.#cancel()
  }
}
