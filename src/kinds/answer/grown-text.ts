/** Pieces wait as a string until there are this many characters, which are worth the conversion. */
const TAIL_CHARS = 512
const ROOM_BYTES_MIN = 1_024
const ROOM_BYTES_MAX = 65_536

interface EncodedText {
  readonly bytes: Buffer
  readonly encoding: 'utf8' | 'utf16le'
}

/**
 * A text that grows by small pieces and is seldom read, stored as bytes. As a joined string, each piece of one token
 * takes more than ten times its length until something reads the whole.
 */
export class GrownText {
  readonly #pieces: EncodedText[] = []
  /** The buffer that still grows. */
  #room: Buffer | null = null
  #roomBytes = 0
  #tail = ''
  #length = 0

  /** The length in characters, as a string counts them. */
  get length(): number {
    return this.#length
  }

  add(text: string): void {
    this.#length += text.length
    this.#tail += text
    if (this.#tail.length >= TAIL_CHARS) this.#store()
  }

  toString(): string {
    const pieces = this.#pieces.map(({ bytes, encoding }) => bytes.toString(encoding))
    return pieces.join('') + (this.#room?.toString('utf8', 0, this.#roomBytes) ?? '') + this.#tail
  }

  #store(): void {
    // A character of two code units may come in two pieces.
    const end = isHighSurrogate(this.#tail.charCodeAt(this.#tail.length - 1)) ? -1 : this.#tail.length
    const text = this.#tail.slice(0, end)
    this.#tail = end === -1 ? this.#tail.slice(-1) : ''
    if (text.isWellFormed()) this.#write(text)
    else {
      // UTF-8 cannot hold half of a surrogate pair: it would become another character.
      this.#seal()
      this.#pieces.push({ bytes: Buffer.from(text, 'utf16le'), encoding: 'utf16le' })
    }
  }

  #write(text: string): void {
    const bytes = Buffer.byteLength(text)
    const room = this.#roomOf(bytes)
    room.write(text, this.#roomBytes)
    this.#roomBytes += bytes
  }

  /** The buffer doubles up to a bound, beyond which another one begins, so that a long text is not copied again. */
  #roomOf(bytes: number): Buffer {
    const wanted = this.#roomBytes + bytes
    if (this.#room !== null && wanted <= this.#room.length) return this.#room
    if (wanted > ROOM_BYTES_MAX) this.#seal()
    // Not from Node's pool: a small piece would keep a page of it in memory.
    const room = Buffer.allocUnsafeSlow(roomFor(this.#roomBytes + bytes))
    this.#room?.copy(room, 0, 0, this.#roomBytes)
    this.#room = room
    return room
  }

  #seal(): void {
    if (this.#room !== null) this.#pieces.push({ bytes: this.#room.subarray(0, this.#roomBytes), encoding: 'utf8' })
    this.#room = null
    this.#roomBytes = 0
  }
}

function roomFor(bytes: number): number {
  let room = ROOM_BYTES_MIN
  while (room < bytes && room < ROOM_BYTES_MAX) room *= 2
  return Math.max(room, bytes)
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
