import type { NodeCipher } from './node-cipher.ts'
import { copyKeys, FRAME_HEAD_BYTES, frameOf, readState, type CopyState } from './stream-copies.ts'
import { script, type Valkey } from './valkey.ts'

const READ_BYTES = 65_536
/** The largest frame: far beyond a stream's output in the time that is gathered into one. */
const FRAME_BYTES_MAX = 4 * 1_048_576

const READ = script(`
local state = redis.call('GET', KEYS[2])
if not state then return { '', '' } end
return { state, redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[1] + ${READ_BYTES - 1}) }`)

/** The new part of a copy. */
export interface Piece {
  readonly bytes: Buffer
  readonly state: CopyState
  /** Whether more is there already. */
  readonly more: boolean
}

/** Reads a copy frame by frame from its beginning to its end. */
export class CopyReader {
  readonly #valkey: Valkey
  readonly #cipher: NodeCipher
  readonly #accountId: string
  readonly #generationId: string
  /** Bytes read so far, and the part of them that has been decrypted. */
  #readBytes = 0
  #openedBytes = 0
  #carry = Buffer.alloc(0)

  constructor(valkey: Valkey, cipher: NodeCipher, accountId: string, generationId: string) {
    this.#valkey = valkey
    this.#cipher = cipher
    this.#accountId = accountId
    this.#generationId = generationId
  }

  /** null = no answer in time; `gone` = there is no such copy any more, or not one that a node wrote. */
  async next(): Promise<Piece | 'gone' | null> {
    const answer = await this.#valkey.run(READ, copyKeys(this.#generationId), [this.#readBytes])
    if (!Array.isArray(answer)) return null
    const [encryptedState, bytes] = answer.map((part) => (Buffer.isBuffer(part) ? part : Buffer.alloc(0)))
    const state = readState(this.#cipher, encryptedState ?? Buffer.alloc(0), this.#generationId)
    if (state === null || state.accountId !== this.#accountId || bytes === undefined) return 'gone'
    this.#readBytes += bytes.length
    const opened = this.#frames(bytes)
    const more = bytes.length === READ_BYTES
    // Bytes that the node did not write, or a cut copy, are not the stream.
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
      const plain = this.#cipher.decrypt(
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
