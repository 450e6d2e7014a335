const HASH_SEED = 0x811c9dc5
const HASH_FACTOR = 0x01000193
/** The most slots that are taken: most look-ups end at the first. */
const FILL_MAX = 0.5
const NONE = -1

/**
 * The tokens of an encoding, found by their bytes. 200,000 of them take 7 MB: one buffer holds all bytes, and a hash
 * table the rank of each token.
 */
export class TokenTable {
  /** The length of the longest token in bytes. */
  readonly longest: number
  readonly #bytes: Uint8Array
  /** The start of the token with each rank; the last entry is the end of the last token. */
  readonly #starts: Uint32Array
  /**
   * Two numbers for each slot: the rank, and the whole hash, which rules out most other tokens without comparing bytes.
   */
  readonly #slots: Int32Array
  readonly #mask: number

  /** `packed`: the length of each token by rank, one byte each, and then the bytes of all tokens. */
  constructor(packed: Uint8Array, count: number) {
    this.#bytes = packed.subarray(count)
    this.#starts = new Uint32Array(count + 1)
    const slots = 2 ** Math.ceil(Math.log2(count / FILL_MAX))
    this.#mask = slots - 1
    this.#slots = new Int32Array(2 * slots).fill(NONE)
    let longest = 0
    let start = 0
    for (let rank = 0; rank < count; rank += 1) {
      const length = packed[rank] as number
      if (length > longest) longest = length
      const hash = hashOf(this.#bytes, start, start + length)
      let slot = hash & this.#mask
      while (this.#slots[2 * slot] !== NONE) slot = (slot + 1) & this.#mask
      this.#slots[2 * slot] = rank
      this.#slots[2 * slot + 1] = hash
      start += length
      this.#starts[rank + 1] = start
    }
    this.longest = longest
  }

  /** The rank of the token with these bytes; -1 = none. */
  rankOf(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > this.longest) return NONE
    const hash = hashOf(bytes, start, end)
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const rank = this.#slots[2 * slot] as number
      if (rank === NONE) return NONE
      if (this.#slots[2 * slot + 1] === hash && this.#is(rank, bytes, start, end)) return rank
    }
  }

  #is(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    const first = this.#starts[rank] as number
    if ((this.#starts[rank + 1] as number) - first !== end - start) return false
    for (let index = start; index < end; index += 1)
      if (bytes[index] !== this.#bytes[first + index - start]) return false
    return true
  }
}

/** FNV-1a, with its upper half mixed into the bits that choose the slot. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = HASH_SEED
  for (let index = start; index < end; index += 1) hash = Math.imul(hash ^ (bytes[index] as number), HASH_FACTOR)
  return hash ^ (hash >>> 15)
}
