import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'

const deflated = promisify(deflate)
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const BITS = 2
const COLOURS = 2 ** BITS
const PIXELS_PER_BYTE = 8 / BITS
/** The picture is this many fields wide and high, the right half the mirror of the left. */
const FIELDS = 12
const NONE = 0
const UP = 2

/** A PNG of exactly that size whose colours and pattern follow from `seed` alone: a few kilobytes whatever its size. */
export async function sandboxPng(seed: string, width: number, height: number): Promise<Buffer> {
  const digest = createHash('sha512').update(seed).digest()
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Bits a pixel; colours by number.
  header.set([BITS, 3], 8)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', digest.subarray(0, COLOURS * 3)),
    chunk('IDAT', await deflated(rows(digest.subarray(COLOURS * 3), width, height))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Scan lines with their filter byte. A line that repeats the one above says just that. */
function rows(digest: Buffer, width: number, height: number): Buffer {
  const lineBytes = 1 + Math.ceil(width / PIXELS_PER_BYTE)
  const data = Buffer.alloc(lineBytes * height)
  let before = -1
  for (let y = 0; y < height; y += 1) {
    const line = data.subarray(y * lineBytes, (y + 1) * lineBytes)
    const field = Math.floor((y * FIELDS) / height)
    line[0] = field === before ? UP : NONE
    if (field !== before) paint(line.subarray(1), digest, field, width)
    before = field
  }
  return data
}

function paint(line: Buffer, digest: Buffer, row: number, width: number): void {
  for (let x = 0; x < width; x += 1) {
    const column = Math.floor((x * FIELDS) / width)
    const mirrored = Math.min(column, FIELDS - 1 - column)
    const colour = ((digest[(row * 5 + mirrored * 3) % digest.length] ?? 0) >> (mirrored % 4)) % COLOURS
    const at = Math.floor(x / PIXELS_PER_BYTE)
    line[at] = (line[at] ?? 0) | (colour << (8 - BITS - (x % PIXELS_PER_BYTE) * BITS))
  }
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const whole = Buffer.alloc(named.length + 8)
  whole.writeUInt32BE(data.length, 0)
  named.copy(whole, 4)
  whole.writeUInt32BE(crc32(named), named.length + 4)
  return whole
}
