import { crc32 } from 'node:zlib'
import { box, m4aFile, opusHead } from './audio-files.ts'

/** A generated file in place of a recorded image or sound: it can be decoded and has exactly that length. */
export interface MediaSpec {
  readonly format: MediaFormat
  readonly bytes: number
  /** Distinguishes several files of one length. */
  readonly seed: number
}

export type MediaFormat = 'png' | 'jpeg' | 'ogg' | 'mp3' | 'mp4'

const MAKERS: Readonly<Record<MediaFormat, (bytes: number, seed: number) => Buffer>> = { png, jpeg, ogg, mp3, mp4 }

/** The same bytes for the same spec, on every machine. */
export function madeMedia({ format, bytes, seed }: MediaSpec): Buffer {
  const made = MAKERS[format](bytes, seed)
  if (made.length !== bytes)
    throw new Error(`no ${format} of ${bytes} bytes can be made, the nearest has ${made.length}`)
  return made
}

/** The format of a file by its first bytes; null = such files cannot be generated. */
export function formatOf(bytes: Buffer): MediaFormat | null {
  const head = bytes.subarray(0, 12).toString('latin1')
  if (head.startsWith('\x89PNG')) return 'png'
  if (head.startsWith('\xff\xd8\xff')) return 'jpeg'
  if (head.startsWith('OggS')) return 'ogg'
  if (head.startsWith('\xff\xf3')) return 'mp3'
  return head.slice(4, 8) === 'ftyp' ? 'mp4' : null
}

const PNG_COLOUR_BYTES = 69

function padding(length: number, seed: number): Buffer {
  return Buffer.alloc(Math.max(0, length), `made ${seed} `)
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const chunk = Buffer.alloc(body.length + 8)
  chunk.writeUInt32BE(data.length, 0)
  body.copy(chunk, 4)
  chunk.writeUInt32BE(crc32(body), body.length + 4)
  return chunk
}

/**
 * One black pixel, in grey or colour: the smallest PNG file, with a private chunk that decoders skip if it must be
 * longer.
 */
function png(bytes: number, seed: number): Buffer {
  const isColour = bytes === PNG_COLOUR_BYTES
  const row = Buffer.from(isColour ? '789c63606060000000040001' : '789c6360000000020001', 'hex')
  const head = Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, isColour ? 2 : 0, 0, 0, 0])),
  ])
  const tail = Buffer.concat([pngChunk('IDAT', row), pngChunk('IEND', Buffer.alloc(0))])
  const left = bytes - head.length - tail.length
  return Buffer.concat(left === 0 ? [head, tail] : [head, pngChunk('maDe', padding(left - 12, seed)), tail])
}

function segment(marker: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0xff, marker, (data.length + 2) >> 8, (data.length + 2) & 255]), data])
}

/** Eight by eight equal grey pixels, and comments to reach the length. */
function jpeg(bytes: number, seed: number): Buffer {
  // One code for each table: no difference, and the end of the block.
  const table = (id: number): Buffer => Buffer.concat([Buffer.from([id, 1]), Buffer.alloc(15), Buffer.from([0])])
  const head = Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1')),
  ])
  const tail = Buffer.concat([
    segment(0xdb, Buffer.concat([Buffer.from([0]), Buffer.alloc(64, 1)])),
    segment(0xc0, Buffer.from([8, 0, 8, 0, 8, 1, 1, 0x11, 0])),
    segment(0xc4, table(0x00)),
    segment(0xc4, table(0x10)),
    segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
    Buffer.from([0x3f, 0xff, 0xd9]),
  ])
  const comments: Buffer[] = []
  for (let left = bytes - head.length - tail.length; left > 0;) {
    // At least a whole comment segment must be left for the next step.
    const size = left > 60_004 ? 60_000 : left
    comments.push(segment(0xfe, padding(size - 4, seed)))
    left -= size
  }
  return Buffer.concat([head, ...comments, tail])
}

function oggCrc(page: Buffer): number {
  let crc = 0
  for (const byte of page) {
    crc ^= byte << 24
    for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc < 0 ? 0x04c1_1db7 : 0)
  }
  return crc >>> 0
}

function oggPage(sequence: number, flags: number, granule: bigint, packet: Buffer): Buffer {
  const lacing = Buffer.from([
    ...Array.from({ length: Math.floor(packet.length / 255) }, () => 255),
    packet.length % 255,
  ])
  const head = Buffer.alloc(27)
  head.write('OggS', 0, 'latin1')
  head[5] = flags
  head.writeBigInt64LE(granule, 6)
  head.writeUInt32LE(1, 14)
  head.writeUInt32LE(sequence, 18)
  head[26] = lacing.length
  const page = Buffer.concat([head, lacing, packet])
  page.writeUInt32LE(oggCrc(page), 22)
  return page
}

/** A fiftieth of a second of silence in Opus, with tags to reach the length. */
function ogg(bytes: number, seed: number): Buffer {
  const channels = opusHead(0)
  channels.set([1, 1], 8)
  const first = oggPage(0, 2, 0n, channels)
  const last = oggPage(2, 4, 960n, Buffer.from([0xf8, 0xff, 0xfe]))
  const page = bytes - first.length - last.length
  // Of a page of n bytes 27 are its header, and one of every 255 others is part of the length.
  const packet = page - 27 - Math.floor((page - 27) / 256) - 1
  const tags = Buffer.concat([Buffer.from('OpusTags\x04\0\0\0made\0\0\0\0', 'latin1'), padding(packet - 20, seed)])
  return Buffer.concat([first, oggPage(1, 0, 0n, tags), last])
}

const MP3_FRAME_BYTES = 480

/** Frames of MPEG-2 layer 3 at 24 kHz and 160 kbit/s, 24 ms of silence each. */
function mp3(bytes: number): Buffer {
  const frame = Buffer.alloc(MP3_FRAME_BYTES)
  frame.writeUInt32BE(0xfff3_e4c4)
  return Buffer.concat(Array.from({ length: Math.round(bytes / MP3_FRAME_BYTES) }, () => frame))
}

/** The boxes of an MP4 film without frames, and free space. */
function mp4(bytes: number, seed: number): Buffer {
  const film = m4aFile(1_000, 1_000)
  return Buffer.concat([film, box('free', padding(bytes - film.length - 8, seed))])
}
