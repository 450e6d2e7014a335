import { AacBits } from './aac-bits.ts'
import { AAC_RATES } from './aac-rates.ts'

/** The least bytes of an element with sound and of the end mark. */
export const FRAME_BYTES_MIN = 4
const ELEMENT = { single: 0, pair: 1, coupling: 2, low: 3, data: 4, program: 5, fill: 6, end: 7 } as const
const ELEMENTS_MAX = 64
const SECTIONS_MAX = 256
const BANDS_MAX = { long: 51, short: 15 } as const
const BOOK = { reserved: 12, pair: 5, noise: 13 } as const
const SHORT_WINDOWS = 2

/**
 * Bytes that hold three ones in a row. A frame may end behind such a byte, or behind a byte whose last ones the next
 * byte continues.
 */
const ENDS = Uint8Array.from({ length: 256 }, (_value, byte) =>
  [0, 1, 2, 3, 4, 5].some((shift) => ((byte >> shift) & 7) === 7) ? 1 : 0,
)

/**
 * The most AAC frames that a decoder can take from one packet. A decoder takes a frame and keeps the rest of the
 * packet for the next one, so a packet may hold hundreds of silent frames. Only a decoder knows where a frame ends:
 * a further frame must begin behind a possible end mark, with a possible head, and have the bytes that this head
 * needs. The largest number of such places that do not overlap counts.
 */
export class AacFrames {
  readonly #bytes: Buffer
  readonly #bits: AacBits
  #end = 0
  #isShort = false
  #bands = 0
  #groups = 1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#bits = new AacBits(bytes)
  }

  count(start: number, end: number): number {
    const bytes = this.#bytes
    if (end <= start) return 0
    let frames = 1
    let open = start + Math.max(FRAME_BYTES_MIN, this.#bytesAt(start, end))
    for (let at = start + FRAME_BYTES_MIN; at + FRAME_BYTES_MIN <= end; at += 1) {
      const before = bytes[at - 1] ?? 0
      if (ENDS[before] === 0 && (before < 0x80 || !endsAcross(bytes[at - 2] ?? 0, before))) continue
      if (isNone(bytes, at)) continue
      const size = this.#bytesAt(at, end)
      if (size === 0) continue
      // The place whose frame ends first leaves the most room for others.
      if (at >= open) frames += 1
      else if (at + size >= open) continue
      open = at + size
    }
    return frames
  }

  /** The bytes that a frame at this place needs; 0 = no frame begins here. */
  #bytesAt(start: number, end: number): number {
    const from = adtsRate(this.#bytes, start) === 0 ? start : start + ((this.#bytes[start + 1] ?? 0) % 2 === 1 ? 7 : 9)
    this.#bits.at = from * 8
    this.#end = end * 8
    if (!this.#elements()) return 0
    return Math.max(from - start + FRAME_BYTES_MIN, ((this.#bits.at + 7) >> 3) - start)
  }

  /** Skips elements without sound, then the first element that has sound. */
  #elements(): boolean {
    for (let elements = 0; elements < ELEMENTS_MAX; elements += 1) {
      if (this.#bits.at + 8 * FRAME_BYTES_MIN - 3 > this.#end) return false
      const id = this.#bits.read(3)
      if (id === ELEMENT.end) return false
      const tag = this.#bits.read(4)
      if (id < ELEMENT.data) {
        const isOne = id === ELEMENT.pair ? this.#pair() : id === ELEMENT.coupling ? this.#coupling() : this.#channel()
        // The mark of the end.
        this.#bits.at += 3
        return isOne && this.#bits.at <= this.#end
      }
      if (id === ELEMENT.program) this.#program()
      else if (id === ELEMENT.data) this.#bits.skipData()
      else this.#bits.at += 8 * (tag === 15 ? 14 + this.#bits.read(8) : tag)
      if (this.#bits.at > this.#end) return false
    }
    return true
  }

  #channel(): boolean {
    this.#bits.at += 8
    return this.#windows() && this.#sections()
  }

  #pair(): boolean {
    if (this.#bits.read(1) === 0) {
      if (!this.#channel()) return false
      this.#bits.at += 22
      return true
    }
    if (!this.#windows()) return false
    const mask = this.#bits.read(2)
    if (mask === 3) return false
    if (mask === 1) this.#bits.at += this.#bands * this.#groups
    this.#bits.at += 8
    const isOne = this.#sections()
    // The second channel: its gain, a section for its bands and three flags.
    this.#bits.at += 11 + (this.#bands === 0 ? 0 : 7)
    return isOne
  }

  #coupling(): boolean {
    this.#bits.at += 1
    for (let left = this.#bits.read(3); left >= 0; left -= 1) this.#bits.at += this.#bits.read(1) === 1 ? 6 : 4
    this.#bits.at += 4
    return this.#channel()
  }

  #program(): void {
    this.#bits.at += 6
    const pairs = this.#bits.read(4) + this.#bits.read(4) + this.#bits.read(4)
    const plain = this.#bits.read(2) + this.#bits.read(3)
    const coupled = this.#bits.read(4)
    for (const bits of [4, 4, 3]) if (this.#bits.read(1) === 1) this.#bits.at += bits
    this.#bits.at = (this.#bits.at + 5 * (pairs + coupled) + 4 * plain + 7) & ~7
    this.#bits.at += 8 * this.#bits.read(8)
  }

  /** Windows and their bands. Frames of profiles with prediction are not counted in this way. */
  #windows(): boolean {
    this.#isShort = (this.#bits.read(4) >> 1) % 4 === SHORT_WINDOWS
    this.#groups = 1
    this.#bands = this.#bits.read(this.#isShort ? 4 : 6)
    if (!this.#isShort) return this.#bits.read(1) === 0 && this.#bands <= BANDS_MAX.long
    for (let left = this.#bits.read(7) | 128; left !== 1; left >>= 1) this.#groups += 1 - (left & 1)
    return this.#bands <= BANDS_MAX.short
  }

  /** The code books of its bands, which must add up to all bands, and the least bits of the encoded values. */
  #sections(): boolean {
    const lengthBits = this.#isShort ? 3 : 5
    const escape = (1 << lengthBits) - 1
    let coded = 0
    for (let group = 0, sections = 0; group < this.#groups; group += 1) {
      for (let band = 0; band < this.#bands;) {
        const book = this.#bits.read(4)
        const first = band
        if (book === BOOK.reserved) return false
        for (let length = escape; length === escape;) {
          if (this.#bits.at > this.#end) return false
          length = this.#bits.read(lengthBits)
          band += length
          if (band > this.#bands) return false
        }
        for (let index = first; book > 0 && index < band; index += 1)
          coded += book >= BOOK.noise ? 1 : 1 + this.#words(index) * (book >= BOOK.pair ? 2 : 1)
        sections += 1
        if (sections > SECTIONS_MAX) return true
      }
    }
    // Three flags: pulses, noise shaping, and gain control, which the profile does not have.
    if (coded === 0 && this.#bits.read(1) === 0 && this.#bits.read(1) === 0) return this.#bits.read(1) === 0
    this.#bits.at += coded + (coded === 0 ? 1 : 3)
    return this.#bits.at <= this.#end
  }

  /** Code words of four values in a band, at the sample rate that has the fewest. */
  #words(band: number): number {
    return this.#isShort || band < 14 ? 1 : band < 20 ? 2 : band < 25 ? 3 : 4
  }
}

/** Ones at the end of a byte that the next byte continues to three. */
function endsAcross(before: number, byte: number): boolean {
  return ((before & 1) === 1 && byte >= 0xc0) || (before & 3) === 3
}

/** A look at single bits of the commonest elements rules out most places. */
function isNone(bytes: Buffer, at: number): boolean {
  const first = bytes[at] ?? 0
  const id = first >> 5
  if (id === ELEMENT.end) return first !== 0xff || adtsRate(bytes, at) === 0
  if (id !== ELEMENT.single && id !== ELEMENT.low) return false
  const second = bytes[at + 2] ?? 0
  if (second >> 6 === SHORT_WINDOWS) return false
  const third = bytes[at + 3] ?? 0
  const bands = ((second & 31) << 1) | (third >> 7)
  if ((third & 0x40) !== 0 || bands > BANDS_MAX.long) return true
  // The book and the length of the first section.
  return (
    bands > 0 && (((third >> 2) & 15) === BOOK.reserved || (((third & 3) << 3) | ((bytes[at + 4] ?? 0) >> 5)) > bands)
  )
}

/** The bytes of an ADTS header at this place, which decoders accept in other containers too; 0 = none. */
export function adtsRate(bytes: Buffer, at: number): number {
  if (bytes[at] !== 0xff || ((bytes[at + 1] ?? 0) & 0xf6) !== 0xf0) return 0
  return AAC_RATES[((bytes[at + 2] ?? 0xff) >> 2) & 15] ?? 0
}
