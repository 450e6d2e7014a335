import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  adtsFrames,
  box,
  element,
  flacFile,
  fragmentedM4a,
  id3Tag,
  m4aFile,
  mp3Frames,
  oggPage,
  opusHead,
  vorbisHead,
  wavFile,
  webmFile,
} from '../../../test/harness/audio-files.ts'
import { cpuMs } from '../../../test/harness/patience.ts'
import { audioSecondsMax } from './audio-bound.ts'
import { audioSeconds } from './audio-duration.ts'

/** A frame of `size` (its code) at the rate of the file's head: silence in one number. */
function flacFrame(size: number, number: number): Buffer {
  const head = Buffer.from([0xff, 0xf8, size << 4, 0x08, number])
  let sum = 0
  for (const byte of head) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 0x80) === 0 ? (sum << 1) & 0xff : ((sum << 1) ^ 0x07) & 0xff
  }
  return Buffer.concat([head, Buffer.from([sum, 0, 0, 0, 0, 0])])
}

test('flac: the frames count, whatever the head says of their number', () => {
  const frames = Buffer.concat(Array.from({ length: 100 }, (_value, index) => flacFrame(12, index)))
  // 100 frames of 4,096 samples, and a head that says one second.
  const lying = Buffer.concat([flacFile(16_000, 16_000), frames])
  assert.deepEqual([audioSeconds(lying), audioSecondsMax(lying)], [1, 25.6])
  const fast = Buffer.concat([
    flacFile(1_000_000, 16_000),
    ...Array.from({ length: 10 }, (_value, index) => flacFrame(15, index)),
  ])
  assert.equal(audioSecondsMax(fast), (10 * 32_768) / 1_000_000)
})

test('wav: all that follows the head of the sound, at the poorest form the file names', () => {
  assert.equal(audioSecondsMax(wavFile(2)), 2)
  const short = wavFile(20)
  short.writeUInt32LE(100, 40)
  assert.ok((audioSeconds(short) ?? 0) < 1 && audioSecondsMax(short) === 20)
  const other = wavFile(2)
  other.writeUInt16LE(0x31, 20)
  assert.equal(audioSecondsMax(other), other.length / 600)
})

test('mp3 and aac: the frames, and what is none of them at the lowest rate', () => {
  const second = 1_152 / 44_100
  const frames = mp3Frames(100)
  assert.ok(Math.abs(audioSecondsMax(Buffer.concat([id3Tag(3_000), frames])) - 100 * second) < 1e-9)
  assert.ok(Math.abs(audioSecondsMax(Buffer.concat([frames, Buffer.alloc(50_000)])) - 100 * second - 50) < 1e-9)
  assert.equal(audioSecondsMax(adtsFrames(75)), (75 * 1_024) / 24_000)
  assert.equal(audioSecondsMax(Buffer.concat([adtsFrames(75), Buffer.alloc(5_000)])), (75 * 1_024) / 24_000 + 5)
})

test('a tag that no decoder takes for one hides no sound', () => {
  const sound = mp3Frames(1_000)
  const honest = audioSecondsMax(sound)
  // A size that goes past the end, a size in bytes of eight bits, a version that is none.
  for (const head of [
    [0x03, 0x00, 0x00, 0x7f, 0x7f, 0x7f, 0x7f],
    [0x03, 0x00, 0x00, 0x80, 0x80, 0x90, 0x80],
    [0xff, 0xff, 0x00, 0x00, 0x00, 0x70, 0x00],
  ]) {
    const hidden = Buffer.concat([Buffer.from('ID3'), Buffer.from(head), sound])
    assert.ok(audioSecondsMax(hidden) >= honest, `${head}: ${audioSecondsMax(hidden)} of ${honest}`)
  }
})

test('aac: each frame counts at its own rate, whatever the first one says', () => {
  const frames = adtsFrames(100)
  const size = frames.length / 100
  // The first keeps 24 kHz, all others say 8 kHz.
  for (let at = size; at < frames.length; at += size) frames[at + 2] = ((frames[at + 2] ?? 0) & 0xc3) | (11 << 2)
  assert.ok(
    Math.abs(audioSecondsMax(frames) - 99 * (1_024 / 8_000) - 1_024 / 24_000) < 1e-9,
    String(audioSecondsMax(frames)),
  )
})

test('ogg: each Opus packet tells its own length, whatever position its page claims', () => {
  const packet = Buffer.from([0x18, 1, 2, 3])
  const pages = Array.from({ length: 50 }, () => oggPage(1, 960n, packet))
  const opus = Buffer.concat([oggPage(1, 0n, opusHead(0)), oggPage(1, 0n, Buffer.from('OpusTags')), ...pages])
  // 60 ms each, and 20 ms told.
  assert.equal(audioSeconds(opus), 0.02)
  near(audioSecondsMax(opus), 3)
  const hidden = Buffer.concat([opus, Buffer.from('between'), ...pages])
  near(audioSecondsMax(hidden), 6)
})

/** The fields of an MP4 box. */
function words(...values: readonly number[]): Buffer {
  return Buffer.concat(
    values.map((value) => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(value)
      return bytes
    }),
  )
}

/** An AAC track of 8 kHz, one channel: its header says a second, its table says what the samples are. */
function aacM4a({
  sizes,
  data,
  edits,
  config = [0x15, 0x88],
}: {
  sizes: Buffer
  data: Buffer
  edits?: Buffer
  config?: readonly number[]
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
  const table = box('stbl', box('stsd', words(0, 1), box('mp4a', entry, esds)), box('stsz', sizes))
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
    box('moov', box('mvhd', words(0, 0, 0, 1_000, 1_000, 0)), track),
    box('mdat', data),
  ])
}

const near = (seconds: number, wanted: number): void =>
  assert.ok(Math.abs(seconds - wanted) < 1e-6, `${seconds}, not ${wanted}`)

test('m4a: the samples of its tables, whatever its header says', () => {
  const each = aacM4a({
    sizes: words(0, 0, 1_000, ...Array.from({ length: 1_000 }, () => 8)),
    data: Buffer.alloc(8_000),
  })
  assert.equal(audioSeconds(each), 1)
  near(audioSecondsMax(each), 128)
  near(audioSecondsMax(aacM4a({ sizes: words(0, 8, 1_000), data: Buffer.alloc(8_000) })), 128)
  // An honest file of 16 kbit/s; of a higher rate the bytes count, for a sample may hold several small frames.
  near(
    audioSecondsMax(aacM4a({ sizes: words(0, 46, 430), data: Buffer.alloc(46 * 430), config: [0x12, 0x08] })),
    (46 * 430) / 1_000,
  )
  // A table that counts what it does not list, and one that counts without a list.
  near(audioSecondsMax(aacM4a({ sizes: words(0, 0, 0xffff_ffff, 8, 8), data: Buffer.alloc(16) })), 0.256)
  assert.equal(audioSecondsMax(aacM4a({ sizes: words(0, 1, 0xffff_ffff), data: Buffer.alloc(16) })), 2_678_400)
})

test('m4a: samples too large for one frame, data no table names, and parts played again all count', () => {
  assert.ok(audioSecondsMax(aacM4a({ sizes: words(0, 50_000, 1), data: Buffer.alloc(50_000) })) > 980)
  near(audioSecondsMax(aacM4a({ sizes: words(0, 8, 10), data: Buffer.alloc(80 + 5_000) })), 1.28 + 100)
  const sizes = words(0, 8, 1_000)
  const data = Buffer.alloc(8_000)
  const again = Array.from({ length: 100 }, () => [1_000, 0, 0x1_0000]).flat()
  near(audioSecondsMax(aacM4a({ sizes, data, edits: words(0, 100, ...again) })), 12_800)
  near(audioSecondsMax(aacM4a({ sizes, data, edits: words(0, 2, 500, 0, 0x1_0000, 500, 4_000, 0x1_0000) })), 128)
  // Fragments of a track whose codec is told.
  const run = box('moof', box('traf', box('tfhd', words(0x10, 1, 8)), box('trun', words(0, 500))))
  near(
    audioSecondsMax(
      Buffer.concat([aacM4a({ sizes: words(0, 0, 0), data: Buffer.alloc(0) }), run, box('mdat', Buffer.alloc(4_000))]),
    ),
    64,
  )
})

/** An identification header of blocks of 256 and 2,048 samples. */
function vorbisIdentification(rate: number): Buffer {
  const head = vorbisHead(rate).subarray(0, 30)
  head[28] = 0xb8
  return head
}

test('ogg: each Vorbis packet counts as the longest there is, whatever position its page claims', () => {
  // 200 packets of 5 bytes in a page.
  const head = Buffer.alloc(27)
  head.write('OggS', 0, 'latin1')
  head[26] = 200
  const page = Buffer.concat([head, Buffer.alloc(200, 5), Buffer.alloc(1_000)])
  const lying = Buffer.concat([
    oggPage(7, 0n, vorbisIdentification(8_000)),
    oggPage(7, 0n, Buffer.from('\u0003vorbis', 'latin1')),
    page,
    page,
    oggPage(7, 8_000n, Buffer.alloc(5)),
  ])
  assert.equal(audioSeconds(lying), 1)
  near(audioSecondsMax(lying), 401 * (1_024 / 8_000))
  const speex = Buffer.concat([oggPage(7, 0n, Buffer.from('Speex   '.padEnd(80))), oggPage(7, 1n, Buffer.alloc(10))])
  assert.equal(audioSecondsMax(speex), speex.length / 50)
})

/** Sound of one codec in blocks that all stand at the same time. */
function mutedWebm({
  codec,
  config = Buffer.alloc(0),
  blocks,
}: {
  codec: string
  config?: Buffer
  blocks: readonly Buffer[]
}): Buffer {
  const track = element(
    'ae',
    Buffer.concat([
      element('d7', Buffer.from([1])),
      element('83', Buffer.from([2])),
      element('86', Buffer.from(codec)),
      element('63a2', config),
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

test('webm: the frames of its blocks, whatever it says of times', () => {
  const plain = Buffer.from([0x81, 0, 0, 0x80, 0x18, 1, 2])
  // 60 ms each.
  near(audioSecondsMax(mutedWebm({ codec: 'A_OPUS', blocks: Array.from({ length: 100 }, () => plain) })), 6)
  // 256 frames in each block.
  const laced = Buffer.concat([Buffer.from([0x81, 0, 0, 0x84, 255]), Buffer.alloc(256)])
  near(audioSecondsMax(mutedWebm({ codec: 'A_OPUS', blocks: [laced, laced] })), 512 * 0.12)
  const config = Buffer.concat([Buffer.from([2, 30, 10]), vorbisIdentification(8_000), Buffer.alloc(20)])
  near(audioSecondsMax(mutedWebm({ codec: 'A_VORBIS', config, blocks: [laced, plain] })), 257 * (1_024 / 8_000))
  near(audioSecondsMax(mutedWebm({ codec: 'A_OTHER', blocks: [plain] })), 3 / 50)
  // A cluster inside another element, which decoders find where its size cannot be.
  const hidden = mutedWebm({ codec: 'A_OPUS', blocks: Array.from({ length: 100 }, () => plain) })
  assert.ok(
    audioSecondsMax(Buffer.concat([element('1a45dfa3', element('4282', Buffer.from('webm'))), element('ec', hidden)])) >
      6,
  )
})

test('what is no container, by its bytes at the lowest rate', () => {
  assert.equal(audioSecondsMax(Buffer.alloc(5_000)), 10)
})

test('any bytes: a number of at least 0, in linear time', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 400 }),
      fc.constantFrom('', 'fLaC', 'OggS', 'RIFF0000WAVE'),
      (bytes, mark) => {
        const seconds = audioSecondsMax(Buffer.concat([Buffer.from(mark, 'latin1'), bytes]))
        assert.ok(Number.isFinite(seconds) && seconds >= 0, `${seconds}`)
      },
    ),
  )
  const files = [
    m4aFile(1, 1),
    fragmentedM4a(),
    aacM4a({ sizes: words(0, 0, 2, 8, 8), data: Buffer.alloc(16) }),
    webmFile(null, 100),
    Buffer.concat([oggPage(7, 0n, vorbisIdentification(8_000)), oggPage(7, 9n, Buffer.alloc(9))]),
  ]
  fc.assert(
    fc.property(fc.constantFrom(...files), fc.nat(900), fc.uint8Array({ maxLength: 20 }), (file, at, noise) => {
      const seconds = audioSecondsMax(
        Buffer.concat([file.subarray(0, at), Buffer.from(noise), file.subarray(at + noise.length)]),
      )
      assert.ok(Number.isFinite(seconds) && seconds >= 0, `${seconds}`)
    }),
    { numRuns: 200 },
  )
  const ftyp = box('ftyp', Buffer.from('isom'))
  const webm = element('1a45dfa3', Buffer.alloc(0))
  const tables = [
    Buffer.concat([ftyp, Buffer.alloc(25_000_000, box('free'))]),
    Buffer.concat([ftyp, Buffer.alloc(25_000_000, box('trun', words(0x200, 0xffff_ffff)))]),
    Buffer.concat([ftyp, Buffer.alloc(25_000_000, box('trak'))]),
    aacM4a({ sizes: Buffer.concat([words(0, 0, 0xffff_ffff), Buffer.alloc(10_000_000)]), data: Buffer.alloc(0) }),
    aacM4a({
      sizes: words(0, 8, 1),
      data: Buffer.alloc(0),
      edits: Buffer.concat([words(0, 10_000), Buffer.alloc(120_000, 1)]),
    }),
    Buffer.concat([webm, Buffer.alloc(25_000_000, Buffer.from([0xa3, 0x80]))]),
    Buffer.concat([webm, Buffer.alloc(25_000_000, Buffer.from([0xae, 0x80]))]),
    Buffer.concat([webm, Buffer.alloc(25_000_000, Buffer.from([0xa3, 0x85, 0x81, 0, 0, 0x84, 0xff]))]),
    Buffer.concat([
      oggPage(7, 0n, vorbisIdentification(8_000)),
      Buffer.alloc(25_000_000, oggPage(7, 0n, Buffer.alloc(0))),
    ]),
  ]
  const worst = [
    ...tables,
    Buffer.concat([flacFile(16_000, 1), Buffer.alloc(25_000_000, Buffer.from([0xff, 0xf8, 0xc0]))]),
    Buffer.concat([
      oggPage(1, 0n, opusHead(0)),
      Buffer.alloc(25_000_000, Buffer.concat([Buffer.from('OggS'), Buffer.alloc(23)])),
    ]),
    Buffer.alloc(10_000_000, id3Tag(0)),
  ]
  for (const bytes of worst) {
    const ms = Math.min(...Array.from({ length: 3 }, () => cpuMs(() => audioSecondsMax(bytes))))
    assert.ok(ms <= 100, `${bytes.toString('latin1', 4, 60)}: ${ms} ms`)
  }
})
