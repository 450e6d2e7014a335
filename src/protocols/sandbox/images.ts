import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import type { Clock } from '../../base/clock.ts'
import { type GeneratedImage, type ImageResult, sizeOfRatio, type ImageRequest } from '../../kinds/images/request.ts'
import type { Adapter } from '../ports/adapter.ts'
import { readScript, resultOnce } from './script.ts'

const deflated = promisify(deflate)
const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
/** One bit for each pixel, with colours from a palette. */
const FORMAT = [1, 3, 0, 0, 0]
const PIXELS_PER_BYTE = 8
const COLOUR_BYTES = 3

/**
 * Pictures without a provider, which depend only on the request. `words=N` in the script is the number of pictures
 * delivered.
 */
export function sandboxImages(clock: Clock): NonNullable<Adapter['images']> {
  return ({ request }, sink) => {
    const script = readScript(request.prompt)
    return resultOnce<ImageResult>(script, clock, sink, async () => {
      const count = Math.min(request.count, script.words ?? request.count)
      const images: GeneratedImage[] = []
      for (let index = 0; index < count; index += 1)
        images.push({ picture: { bytes: await picture(request, index), mediaType: 'image/png' }, revisedPrompt: null })
      return { images, usage: null, upstreamId: null, calls: 1 }
    })
  }
}

function picture(request: ImageRequest, index: number): Promise<Buffer> {
  const { task, prompt, size, aspectRatio, imageSize, sources, mask, parameters } = request
  const shown = [...sources, ...(mask === null ? [] : [mask])].map(({ url }) => url)
  const [width = 0, height = 0] = (
    aspectRatio === null && imageSize === null ? (size ?? '1024x1024') : sizeOfRatio(aspectRatio ?? '1:1', imageSize)
  )
    .split('x')
    .map(Number)
  return sandboxPng(
    JSON.stringify([prompt, parameters['seed'] ?? null, index, ...(task === 'variation' ? [task] : []), ...shown]),
    width,
    height,
  )
}

/** A PNG of exactly this size in one colour, which depends only on `seed`. */
async function sandboxPng(seed: string, width: number, height: number): Promise<Buffer> {
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
