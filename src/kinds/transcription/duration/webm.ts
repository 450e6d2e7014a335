const ID = {
  segment: 0x18538067,
  info: 0x1549a966,
  timecodeScale: 0x2ad7b1,
  duration: 0x4489,
  cluster: 0x1f43b675,
  timecode: 0xe7,
  simpleBlock: 0xa3,
  blockGroup: 0xa0,
  block: 0xa1,
} as const
const OPENED: ReadonlySet<number> = new Set([ID.segment, ID.info, ID.cluster, ID.blockGroup])
const NANOSECONDS = 1_000_000_000
const SCALE_DEFAULT = 1_000_000
const ELEMENTS_MAX = 500_000

interface WebmTimes {
  scale: number
  duration: number
  cluster: number
  last: number
  /** The time between the last two blocks: about as long as the last one lasts. */
  gap: number
}

/**
 * Seconds of a WebM or Matroska file: its own duration or, for an unfinished recording, the time of its last block.
 * null where it has neither.
 */
export function webmSeconds(bytes: Buffer): number | null {
  const found: WebmTimes = { scale: SCALE_DEFAULT, duration: 0, cluster: 0, last: 0, gap: 0 }
  for (let at = 0, elements = 0; at < bytes.length && elements < ELEMENTS_MAX; elements += 1) {
    const idLength = lengthOf(bytes[at], 4)
    const id = idLength === 0 ? 0 : numberAt(bytes, at, idLength)
    const sizeLength = lengthOf(bytes[at + idLength], 8)
    if (id === 0 || sizeLength === 0 || at + idLength + sizeLength > bytes.length) break
    const content = at + idLength + sizeLength
    // Its parts are read like its neighbours, so that an unknown size does not matter.
    if (OPENED.has(id)) {
      at = content
      continue
    }
    const size = sizeAt(bytes, at + idLength, sizeLength)
    if (size === null) break
    readElement(id, bytes.subarray(content, content + size), found)
    at = content + size
  }
  const units = found.duration > 0 ? found.duration : found.last + found.gap
  return units > 0 ? (units * found.scale) / NANOSECONDS : null
}

function readElement(id: number, content: Buffer, found: WebmTimes): void {
  if (id === ID.timecodeScale) found.scale = numberAt(content, 0, content.length) || SCALE_DEFAULT
  else if (id === ID.timecode) found.cluster = numberAt(content, 0, content.length)
  else if (id === ID.duration) found.duration = floatOf(content)
  else if (id === ID.simpleBlock || id === ID.block) {
    const at = lengthOf(content[0], 8)
    if (at === 0 || content.length < at + 2) return
    const time = found.cluster + content.readInt16BE(at)
    if (time <= found.last) return
    found.gap = time - found.last
    found.last = time
  }
}

export function floatOf(content: Buffer): number {
  const value = content.length === 4 ? content.readFloatBE() : content.length === 8 ? content.readDoubleBE() : 0
  return Number.isFinite(value) ? value : 0
}

/** The length of a variable number in bytes, from its first byte; 0 = not allowed. */
export function lengthOf(first: number | undefined, most: number): number {
  const length = first === undefined || first === 0 ? 0 : Math.clz32(first) - 23
  return length > most ? 0 : length
}

export function numberAt(bytes: Buffer, at: number, length: number): number {
  let value = 0
  for (let index = 0; index < length && index < 8; index += 1) value = value * 256 + (bytes[at + index] ?? 0)
  return value
}

/** null = not known, all ones. The mark of its length is taken off first: with it the number would not be exact. */
export function sizeAt(bytes: Buffer, at: number, length: number): number | null {
  const first = (bytes[at] ?? 0) - 2 ** (8 - length)
  const size = first * 256 ** (length - 1) + numberAt(bytes, at + 1, length - 1)
  return size >= 2 ** (7 * length) - 1 ? null : size
}
