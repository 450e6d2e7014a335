import { box, element, vorbisHead } from './audio-files.ts'

/** A frame of `size` (its code) at the rate of the file's head: silence in one number. */
export function flacFrame(size: number, number: number): Buffer {
  const head = Buffer.from([0xff, 0xf8, size << 4, 0x08, number])
  let sum = 0
  for (const byte of head) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 0x80) === 0 ? (sum << 1) & 0xff : ((sum << 1) ^ 0x07) & 0xff
  }
  return Buffer.concat([head, Buffer.from([sum, 0, 0, 0, 0, 0])])
}

/** The fields of an MP4 box. */
export function words(...values: readonly number[]): Buffer {
  return Buffer.concat(
    values.map((value) => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(value)
      return bytes
    }),
  )
}

/** An AAC track of 8 kHz, one channel: its header declares a second, its table describes the samples. */
export function aacM4a({
  sizes,
  data,
  edits,
  config = [0x15, 0x88],
  chunks = [24],
}: {
  sizes: Buffer
  data: Buffer
  edits?: Buffer
  config?: readonly number[]
  chunks?: readonly number[]
}): Buffer {
  const decoder = Buffer.concat([
    Buffer.from([0x04, 13 + 2 + config.length, 0x40]),
    Buffer.alloc(12),
    Buffer.from([0x05, config.length, ...config]),
  ])
  const esds = box('esds', words(0), Buffer.from([0x03, 3 + decoder.length, 0, 1, 0]), decoder)
  const entry = Buffer.alloc(28)
  entry.writeUInt16BE(1, 16)
  entry.writeUInt16BE(8_000, 24)
  const table = box(
    'stbl',
    box('stsd', words(0, 1), box('mp4a', entry, esds)),
    box('stsz', sizes),
    box('stsc', words(0, 1, 1, chunks.length === 1 ? 0xffff_ffff : 1, 1)),
    box('stco', words(0, chunks.length, ...chunks)),
  )
  const media = box(
    'mdia',
    box('mdhd', words(0, 0, 0, 8_000, 8_000, 0)),
    box('hdlr', words(0, 0), Buffer.from('soun'), words(0, 0, 0)),
    box('minf', table),
  )
  const track = box(
    'trak',
    box('tkhd', words(0, 0, 0, 1, 0, 1_000)),
    ...(edits === undefined ? [] : [box('edts', box('elst', edits))]),
    media,
  )
  return Buffer.concat([
    box('ftyp', Buffer.from('M4A '), words(0)),
    box('mdat', data),
    box('moov', box('mvhd', words(0, 0, 0, 1_000, 1_000, 0)), track),
  ])
}

/** The shortest AAC frames there are: one element without a band, each with another gain. */
export function silentFrames(count: number): Buffer {
  const bytes = Buffer.alloc(count * 4)
  for (let index = 0; index < count; index += 1)
    bytes.writeUInt32BE(((index % 16) << 25) | ((index % 251) << 17) | 0x07, index * 4)
  return bytes
}

/** An identification header of blocks of 256 and 2,048 samples. */
export function vorbisIdentification(rate: number): Buffer {
  const head = vorbisHead(rate).subarray(0, 30)
  head[28] = 0xb8
  return head
}

/** Audio of one codec in blocks that all have the same time. */
export function mutedWebm({
  codec,
  config = Buffer.alloc(0),
  audio = Buffer.alloc(0),
  blocks,
}: {
  codec: string
  config?: Buffer
  audio?: Buffer
  blocks: readonly Buffer[]
}): Buffer {
  const track = element(
    'ae',
    Buffer.concat([
      element('d7', Buffer.from([1])),
      element('83', Buffer.from([2])),
      element('86', Buffer.from(codec)),
      element('63a2', config),
      audio,
    ]),
  )
  const cluster = element(
    '1f43b675',
    Buffer.concat([element('e7', Buffer.from([0])), ...blocks.map((block) => element('a3', block))]),
  )
  return Buffer.concat([
    element('1a45dfa3', element('4282', Buffer.from('webm'))),
    element('18538067', Buffer.concat([element('1654ae6b', track), cluster])),
  ])
}
