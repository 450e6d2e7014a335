import { BitWriter } from './bit-writer.ts'

/** Frames a second: a picture that stands still needs no more. */
const FRAMES_PER_SECOND = 4
const MACROBLOCK = 16
const CROP_UNIT = 2
/** Quantiser at which one step of a level is 2.5 of luma and 4 of chroma. */
const QP = 36
const LUMA_STEP = 2.5
const CHROMA_STEP = 4
const GREY = 128

export interface PlainVideo {
  readonly width: number
  readonly height: number
  readonly seconds: number
  /** Y, Cb and Cr of every pixel, 16–240. */
  readonly colour: readonly [number, number, number]
}

/**
 * A real, playable MP4 of one colour: H.264 in its constrained baseline. Its first picture codes the colour in one
 * macroblock, which all others predict; every later picture is one run of skipped macroblocks. A second of 1280x720 is
 * 3.7 kB.
 */
export function plainMp4(video: PlainVideo): Buffer {
  const frames = Math.max(1, Math.round(video.seconds * FRAMES_PER_SECOND))
  const samples = Array.from({ length: frames }, (_value, index) =>
    sized(index === 0 ? keyPicture(video) : skippedPicture(video, index)),
  )
  const data = Buffer.concat(samples)
  const head = fileType()
  // The place of the pictures in the file depends on how long what stands before them is, which does not depend on it.
  const length = head.length + movie(video, samples, 0).length + 8
  return Buffer.concat([head, movie(video, samples, length), box('mdat', data)])
}

function macroblocks({ width, height }: PlainVideo): { readonly across: number; readonly down: number } {
  return { across: Math.ceil(width / MACROBLOCK), down: Math.ceil(height / MACROBLOCK) }
}

/** ITU-T H.264, 7.3.2.1: constrained baseline, one reference, no reordering. */
function sequenceParameters(video: PlainVideo): Buffer {
  const { across, down } = macroblocks(video)
  const bits = new BitWriter()
  bits
    .bits(66, 8)
    .bits(0xc0, 8)
    .bits(levelOf(across * down), 8)
  // id; 4-bit frame numbers; picture order = decoding order; one reference; no gaps.
  bits.ue(0).ue(0).ue(2).ue(1).bits(0, 1)
  bits.ue(across - 1).ue(down - 1)
  // Frames alone; direct 8x8 inference.
  bits.bits(1, 1).bits(1, 1)
  const right = (across * MACROBLOCK - video.width) / CROP_UNIT
  const bottom = (down * MACROBLOCK - video.height) / CROP_UNIT
  if (right === 0 && bottom === 0) bits.bits(0, 1)
  else bits.bits(1, 1).ue(0).ue(Math.floor(right)).ue(0).ue(Math.floor(bottom))
  // No VUI.
  bits.bits(0, 1)
  return unit(0x67, bits.ended())
}

/** Table A-1: by the macroblocks of a picture. */
function levelOf(count: number): number {
  return count <= 1_620 ? 30 : count <= 3_600 ? 31 : count <= 8_192 ? 40 : count <= 36_864 ? 51 : 62
}

/** 7.3.2.2: CAVLC, one slice group, the deblocking filter is told of in each slice. */
function pictureParameters(): Buffer {
  const bits = new BitWriter()
  bits.ue(0).ue(0).bits(0, 1).bits(0, 1).ue(0).ue(0).ue(0).bits(0, 1).bits(0, 2)
  bits
    .se(QP - 26)
    .se(0)
    .se(0)
    .bits(1, 1)
    .bits(0, 1)
    .bits(0, 1)
  return unit(0x68, bits.ended())
}

function keyPicture(video: PlainVideo): Buffer {
  const { across, down } = macroblocks(video)
  const bits = new BitWriter()
  // First macroblock, I slice, parameters, frame number, id of the key picture, marks, quantiser, no deblocking.
  bits.ue(0).ue(7).ue(0).bits(0, 4).ue(0).bits(0, 1).bits(0, 1).se(0).ue(1)
  const [luma, blue, red] = video.colour
  colouredMacroblock(bits, level(luma, LUMA_STEP), level(blue, CHROMA_STEP), level(red, CHROMA_STEP))
  for (let index = 1; index < across * down; index += 1) {
    // Intra 16x16 by the mean of its neighbours, and no residual: mb_type 3, chroma by the mean, quantiser as before, an empty DC block.
    bits.ue(3).ue(0).se(0).bits(1, 1)
  }
  return unit(0x65, bits.ended())
}

function level(value: number, step: number): number {
  return Math.round((value - GREY) / step)
}

/** 7.3.5: Intra 16x16 from nothing, which is grey, with one DC level of luma and one of each chroma. */
function colouredMacroblock(bits: BitWriter, luma: number, blue: number, red: number): void {
  // mb_type: DC prediction, chroma DC coded, no luma AC.
  bits.ue(7).ue(0).se(0)
  if (luma === 0) bits.bits(1, 1)
  else {
    // Table 9-5, 0 <= nC < 2, one coefficient: a trailing one, or not. Table 9-7: no zeros before it.
    if (Math.abs(luma) === 1) bits.bits(0b01, 2).bits(luma < 0 ? 1 : 0, 1)
    else coefficient(bits.bits(0b000101, 6), luma)
    bits.bits(1, 1)
  }
  for (const chroma of [blue, red]) {
    // Table 9-5, nC = -1.
    if (chroma === 0) bits.bits(0b01, 2)
    else {
      if (Math.abs(chroma) === 1) bits.bits(0b1, 1).bits(chroma < 0 ? 1 : 0, 1)
      else coefficient(bits.bits(0b000111, 6), chroma)
      bits.bits(1, 1)
    }
  }
}

/** 9.2.2.1 for the only coefficient of its block, which is no trailing one and so at least 2. */
function coefficient(bits: BitWriter, value: number): void {
  const code = value > 0 ? 2 * value - 2 : -2 * value - 1
  const shortened = code - 2
  if (shortened < 14) bits.bits(1, shortened + 1)
  else if (shortened < 30) bits.bits(1, 15).bits(shortened - 14, 4)
  else bits.bits(1, 16).bits(shortened - 30, 12)
}

/** A P slice that skips all there is. */
function skippedPicture(video: PlainVideo, index: number): Buffer {
  const { across, down } = macroblocks(video)
  const bits = new BitWriter()
  bits
    .ue(0)
    .ue(5)
    .ue(0)
    .bits(index % 16, 4)
    .bits(0, 1)
    .bits(0, 1)
    .bits(0, 1)
    .se(0)
    .ue(1)
    .ue(across * down)
  return unit(0x41, bits.ended())
}

/** Annex B's emulation prevention: no start code may stand inside a unit. */
function unit(header: number, payload: Buffer): Buffer {
  const bytes: number[] = [header]
  let zeros = 0
  for (const byte of payload) {
    if (zeros >= 2 && byte <= 3) {
      bytes.push(3)
      zeros = 0
    }
    bytes.push(byte)
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return Buffer.from(bytes)
}

function sized(sample: Buffer): Buffer {
  return Buffer.concat([u32(sample.length), sample])
}

function fileType(): Buffer {
  return box('ftyp', Buffer.from('isom'), u32(0x200), Buffer.from('isomiso2avc1mp41'))
}

const MATRIX = Buffer.concat([0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000].map(u32))
const TIMESCALE = 1_000

/** ISO/IEC 14496-12, one track; times in milliseconds. */
function movie(video: PlainVideo, samples: readonly Buffer[], dataAt: number): Buffer {
  const frameMs = TIMESCALE / FRAMES_PER_SECOND
  const duration = samples.length * frameMs
  const header = box(
    'mvhd',
    u32(0),
    u32(0),
    u32(0),
    u32(TIMESCALE),
    u32(duration),
    u32(0x10000),
    u16(0x100),
    Buffer.alloc(10),
    MATRIX,
    Buffer.alloc(24),
    u32(2),
  )
  const track = box(
    'tkhd',
    u32(3),
    u32(0),
    u32(0),
    u32(1),
    u32(0),
    u32(duration),
    Buffer.alloc(8),
    u16(0),
    u16(0),
    u16(0),
    u16(0),
    MATRIX,
    u32(video.width * 65_536),
    u32(video.height * 65_536),
  )
  const media = box('mdhd', u32(0), u32(0), u32(0), u32(TIMESCALE), u32(duration), u16(0x55c4), u16(0))
  const handler = box('hdlr', u32(0), u32(0), Buffer.from('vide'), Buffer.alloc(12), Buffer.from('VideoHandler\0'))
  const table = box(
    'stbl',
    box('stsd', u32(0), u32(1), sampleEntry(video)),
    box('stts', u32(0), u32(1), u32(samples.length), u32(frameMs)),
    box('stss', u32(0), u32(1), u32(1)),
    box('stsc', u32(0), u32(1), u32(1), u32(samples.length), u32(1)),
    box('stsz', u32(0), u32(0), u32(samples.length), ...samples.map((sample) => u32(sample.length))),
    box('stco', u32(0), u32(1), u32(dataAt)),
  )
  const information = box(
    'minf',
    box('vmhd', u32(1), Buffer.alloc(8)),
    box('dinf', box('dref', u32(0), u32(1), box('url ', u32(1)))),
    table,
  )
  return box('moov', header, box('trak', track, box('mdia', media, handler, information)))
}

function sampleEntry(video: PlainVideo): Buffer {
  const sequence = sequenceParameters(video)
  const picture = pictureParameters()
  const configuration = box(
    'avcC',
    Buffer.from([1]),
    sequence.subarray(1, 4),
    Buffer.from([0xff, 0xe1]),
    u16(sequence.length),
    sequence,
    Buffer.from([1]),
    u16(picture.length),
    picture,
  )
  return box(
    'avc1',
    Buffer.alloc(6),
    u16(1),
    Buffer.alloc(16),
    u16(video.width),
    u16(video.height),
    u32(0x480000),
    u32(0x480000),
    u32(0),
    u16(1),
    Buffer.alloc(32),
    u16(0x18),
    u16(0xffff),
    configuration,
  )
}

function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([u32(body.length + 8), Buffer.from(type, 'latin1'), body])
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}
