import { AacBits } from './aac-bits.ts'
import { CODEBOOKS, LONG_BANDS, SCALE_FACTOR_BITS_MAX, SCALE_FACTOR_ENDS, SHORT_BANDS } from './aac-codes.ts'
import { adtsRate } from './aac-frames.ts'

const ELEMENT = { single: 0, pair: 1, low: 3, data: 4, fill: 6, end: 7 } as const
const ELEMENTS_MAX = 64
const BOOK = { reserved: 12, noise: 13 } as const
const SHORT_WINDOWS = 2
const PROFILE_LOW = 1
/** A fill element of this type says itself how long it is, and decoders believe it. */
const FILL_DYNAMIC_RANGE = 11
const ESCAPE_BITS_MAX = 8
/** The longest codeword with its signs and two escapes has fewer bits. */
const WORD_BITS_MAX = 64
const TNS = {
  short: { windows: 8, countBits: 1, lengthBits: 4, orderBits: 3, orderMax: 7 },
  long: { windows: 1, countBits: 2, lengthBits: 6, orderBits: 5, orderMax: 12 },
} as const

/**
 * Reads a packet of AAC-LC codeword by codeword, to find the end of its frame. A decoder takes further frames from the
 * bytes behind that end, so only a packet without such bytes is one frame.
 */
export class AacPacket {
  readonly #bytes: Buffer
  readonly #bits: AacBits
  #wordsLeft: number
  #end = 0
  #rateIndex = 0
  #isShort = false
  #bands = 0
  #groups: number[] = [1]
  readonly #books = new Uint8Array(128)

  /** `wordsMax`: codewords, for all packets together, which bound the time. */
  constructor(bytes: Buffer, wordsMax: number) {
    this.#bytes = bytes
    this.#bits = new AacBits(bytes)
    this.#wordsLeft = wordsMax
  }

  get isSpent(): boolean {
    return this.#wordsLeft < 0
  }

  /**
   * Whether the packet is one frame and nothing but zeros behind it. `rateIndex`: of a packet without a header; null =
   * not known. false also where the frame has what is not read here, and once the codewords are used up.
   */
  isOneFrame(start: number, end: number, rateIndex: number | null): boolean {
    const bytes = this.#bytes
    let first = start
    this.#rateIndex = rateIndex ?? -1
    if (adtsRate(bytes, start) !== 0) {
      const form = bytes[start + 2] ?? 0
      if (form >> 6 !== PROFILE_LOW || ((bytes[start + 6] ?? 0) & 3) !== 0) return false
      this.#rateIndex = (form >> 2) & 15
      first += ((bytes[start + 1] ?? 0) & 1) === 1 ? 7 : 9
    }
    if (this.#rateIndex < 0 || this.isSpent) return false
    this.#bits.at = first * 8
    this.#end = end * 8
    if (!this.#elements()) return false
    for (let at = (this.#bits.at + 7) >> 3; at < end; at += 1) if (bytes[at] !== 0) return false
    return true
  }

  #elements(): boolean {
    for (let elements = 0; elements < ELEMENTS_MAX; elements += 1) {
      if (this.#bits.at + 3 > this.#end) return false
      const id = this.#bits.read(3)
      if (id === ELEMENT.end) return true
      const tag = this.#bits.read(4)
      if (id === ELEMENT.single || id === ELEMENT.low) {
        if (!this.#channel(false)) return false
      } else if (id === ELEMENT.pair) {
        if (!this.#pair()) return false
      } else if (id === ELEMENT.data) this.#bits.skipData()
      else if (id !== ELEMENT.fill || !this.#fill(tag)) return false
    }
    return false
  }

  #fill(tag: number): boolean {
    const size = tag === 15 ? 14 + this.#bits.read(8) : tag
    if (size === 0) return true
    const isPlain = this.#bits.read(4) !== FILL_DYNAMIC_RANGE
    this.#bits.at += size * 8 - 4
    return isPlain
  }

  #pair(): boolean {
    const isCommon = this.#bits.read(1) === 1
    if (isCommon) {
      if (!this.#windows()) return false
      const mask = this.#bits.read(2)
      if (mask === 3) return false
      if (mask === 1) this.#bits.at += this.#bands * this.#groups.length
    }
    return this.#channel(isCommon) && this.#channel(isCommon)
  }

  #channel(isCommon: boolean): boolean {
    // The gain of the whole channel.
    this.#bits.at += 8
    if (!isCommon && !this.#windows()) return false
    if (!this.#sections()) return false
    this.#scaleFactors()
    if (this.#bits.read(1) === 1) {
      if (this.#isShort) return false
      const pulses = this.#bits.read(2) + 1
      this.#bits.at += 6 + 9 * pulses
    }
    if (this.#bits.read(1) === 1 && !this.#noiseShaping()) return false
    // The profile has no gain control.
    return this.#bits.read(1) === 0 && this.#spectrum()
  }

  #windows(): boolean {
    this.#bits.at += 1
    this.#isShort = this.#bits.read(2) === SHORT_WINDOWS
    this.#bits.at += 1
    this.#groups = [1]
    this.#bands = this.#bits.read(this.#isShort ? 4 : 6)
    if (this.#isShort)
      for (let grouping = this.#bits.read(7), bit = 64; bit > 0; bit >>= 1)
        if ((grouping & bit) === 0) this.#groups.push(1)
        else this.#groups[this.#groups.length - 1] = (this.#groups.at(-1) ?? 0) + 1
    // The profile predicts nothing.
    else if (this.#bits.read(1) === 1) return false
    return this.#bands <= this.#widths().length
  }

  #widths(): readonly number[] {
    return (this.#isShort ? SHORT_BANDS : LONG_BANDS)[this.#rateIndex] ?? []
  }

  /** The codebook of each band. */
  #sections(): boolean {
    const lengthBits = this.#isShort ? 3 : 5
    const escape = (1 << lengthBits) - 1
    for (let group = 0, at = 0; group < this.#groups.length; group += 1) {
      const behind = at + this.#bands
      while (at < behind) {
        const book = this.#bits.read(4)
        if (book === BOOK.reserved || this.#bits.at > this.#end) return false
        let last = at
        for (let length = escape; length === escape;) {
          length = this.#bits.read(lengthBits)
          last += length
          if (last > behind || this.#bits.at > this.#end) return false
        }
        this.#books.fill(book, at, last)
        at = last
      }
    }
    return true
  }

  #scaleFactors(): void {
    let isNoisy = false
    for (let band = 0; band < this.#bands * this.#groups.length; band += 1) {
      const book = this.#books[band] ?? 0
      if (book === 0) continue
      // The first noise level is not coded.
      if (book === BOOK.noise && !isNoisy) {
        isNoisy = true
        this.#bits.at += 9
        continue
      }
      const code = this.#bits.word() >>> (32 - SCALE_FACTOR_BITS_MAX)
      let length = 0
      while (code >= (SCALE_FACTOR_ENDS[length] ?? Infinity)) length += 1
      this.#bits.at += length + 1
    }
  }

  #noiseShaping(): boolean {
    const form = this.#isShort ? TNS.short : TNS.long
    for (let window = 0; window < form.windows; window += 1) {
      const filters = this.#bits.read(form.countBits)
      const resolution = filters === 0 ? 0 : this.#bits.read(1)
      for (let filter = 0; filter < filters; filter += 1) {
        this.#bits.at += form.lengthBits
        const order = this.#bits.read(form.orderBits)
        if (order > form.orderMax) return false
        if (order === 0) continue
        this.#bits.at += 1
        const compressed = this.#bits.read(1)
        this.#bits.at += order * (3 + resolution - compressed)
      }
    }
    return true
  }

  #spectrum(): boolean {
    const widths = this.#widths()
    let band = 0
    for (const windows of this.#groups)
      for (let index = 0; index < this.#bands; index += 1, band += 1) {
        const book = this.#books[band] ?? 0
        if (book === 0 || book >= BOOK.noise) continue
        if (!this.#values(book, (widths[index] ?? 0) * windows)) return false
      }
    return this.#bits.at <= this.#end
  }

  #values(number: number, count: number): boolean {
    const book = CODEBOOKS[number]
    if (book === null || book === undefined) return false
    const { table, shift } = book
    const bits = this.#bits
    const { view } = bits
    const words = count / book.values
    // At the end of the file there are no 32 bits to read at once, so that the last codewords are read byte by byte.
    const isInside = this.#bits.at + words * WORD_BITS_MAX < view.byteLength * 8
    let at = this.#bits.at
    for (let left = words; left > 0; left -= 1) {
      const word = isInside ? view.getInt32(at >> 3) : bits.wordAt(at >> 3)
      const found = table[(word << (at & 7)) >>> shift] ?? 0
      at += found & 31
      if (found < 32) continue
      this.#bits.at = at
      for (let escapes = found >> 5; escapes > 0; escapes -= 1) if (!this.#escape()) return false
      at = this.#bits.at
    }
    this.#bits.at = at
    this.#wordsLeft -= words
    return at <= this.#end && this.#wordsLeft >= 0
  }

  /** A number above 15: as many ones as it has bits beyond four, a zero, and the bits. */
  #escape(): boolean {
    let ones = 0
    while (this.#bits.read(1) === 1) {
      ones += 1
      if (ones > ESCAPE_BITS_MAX) return false
    }
    this.#bits.at += ones + 4
    return true
  }
}
