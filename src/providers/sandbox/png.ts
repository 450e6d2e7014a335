import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'

const deflated = promisify(deflate)
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
/** One bit for each pixel, colours from a palette. */
const FORMAT = [1, 3, 0, 0, 0]
const PIXELS_PER_BYTE = 8
const COLOUR_BYTES = 3

/** A PNG of exactly that size in one colour, which depends only on `seed`. */
export async function sandboxPng(seed: string, width: number, height: number): Promise<Buffer> {
  const size = Buffer.alloc(8)
  size.writeUInt32BE(width, 0)
  size.writeUInt32BE(height, 4)
  // Each line is a filter byte and its pixels, all of colour 0.
  const lines = Buffer.alloc((1 + Math.ceil(width / PIXELS_PER_BYTE)) * height)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', Buffer.concat([size, Buffer.from(FORMAT)])),
    chunk('PLTE', createHash('sha256').update(seed).digest().subarray(0, COLOUR_BYTES)),
    chunk('IDAT', await deflated(lines)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const whole = Buffer.alloc(named.length + 8)
  whole.writeUInt32BE(data.length, 0)
  named.copy(whole, 4)
  whole.writeUInt32BE(crc32(named), named.length + 4)
  return whole
}
