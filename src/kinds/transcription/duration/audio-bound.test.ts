import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
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
  wavFile,
  webmFile,
} from '../../../../test/harness/audio-files.ts'
import {
  aacM4a,
  flacFrame,
  mutedWebm,
  silentFrames,
  vorbisIdentification,
  words,
} from '../../../../test/harness/audio-tracks.ts'
import { noStall } from '../../../../test/harness/patience.ts'
import { audioSecondsMax } from './audio-bound.ts'
import { audioSeconds } from './audio-duration.ts'

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
  assert.equal(audioSecondsMax(other), 20)
  other.writeUInt16LE(0x99, 20)
  assert.equal(audioSecondsMax(other), other.length / 600)
  // µ-law has one byte a value, whatever the form says.
  other.writeUInt16LE(7, 20)
  assert.equal(audioSecondsMax(other), 4)
})

test('mp3 and aac: the frames, and other bytes at the lowest rate', () => {
  const second = 1_152 / 44_100
  const frames = mp3Frames(100)
  assert.ok(Math.abs(audioSecondsMax(Buffer.concat([id3Tag(3_000), frames])) - 100 * second) < 1e-9)
  assert.ok(Math.abs(audioSecondsMax(Buffer.concat([frames, Buffer.alloc(50_000)])) - 100 * second - 50) < 1e-9)
  assert.equal(audioSecondsMax(adtsFrames(75)), (75 * 1_024) / 24_000)
  // After a break decoders look for the next frame.
  assert.equal(
    audioSecondsMax(Buffer.concat([adtsFrames(75), Buffer.alloc(5_000), adtsFrames(75)])),
    (150 * 1_024) / 24_000,
  )
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
  near(audioSeconds(frames) ?? 0, 99 * (1_024 / 8_000) + 1_024 / 24_000)
  near(audioSecondsMax(frames), 100 * (1_024 / 8_000))
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

/** A frame of an element with any content, and another without a band behind it. */
function filledFrame(noise: Uint8Array): Buffer {
  const bits = `110${noise.length.toString(2).padStart(4, '0')}${[...noise].map((byte) => byte.toString(2).padStart(8, '0')).join('')}${'0'.repeat(29)}111`
  return Buffer.from(
    (bits.padEnd(Math.ceil(bits.length / 8) * 8, '0').match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)),
  )
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
  // A table that counts more than it lists, and one that counts without a list.
  near(audioSecondsMax(aacM4a({ sizes: words(0, 0, 0xffff_ffff, 8, 8), data: Buffer.alloc(16) })), 0.256)
  assert.equal(audioSecondsMax(aacM4a({ sizes: words(0, 1, 0xffff_ffff), data: Buffer.alloc(16) })), 2_678_400)
  // A table that stands there twice.
  const twice = aacM4a({ sizes: words(0, 8, 1), data: Buffer.alloc(8) })
  const table = twice.indexOf('stsz')
  twice.write('free', twice.indexOf('tkhd'), 'latin1')
  assert.ok(table > 0 && audioSecondsMax(twice) < 1)
})

test('m4a: frames hidden in samples, data no table names, and parts played again all count', () => {
  for (const [size, count] of [
    [1_000, 8],
    [50_000, 1],
  ] as const) {
    const data = silentFrames((size * count) / 4)
    const seconds = ((size * count) / 4) * 0.128
    const held = audioSecondsMax(aacM4a({ sizes: words(0, size, count), data }))
    assert.ok(held >= seconds - 1e-6 && held < seconds * 1.01, `${held} of ${seconds}`)
  }
  // Behind a frame of noise, and again and again from one place.
  const mixed = Buffer.concat([randomBytes(200), Buffer.from([0x07]), silentFrames(50)])
  assert.ok(audioSecondsMax(aacM4a({ sizes: words(0, mixed.length, 1), data: mixed })) > 50 * 0.128)
  // A sample whose own header names a rate below that of the container.
  const slow = Buffer.concat([Buffer.from([0xff, 0xf1, 0x40 | (12 << 2), 0x40, 0x01, 0xff, 0xfc]), silentFrames(1)])
  near(audioSecondsMax(aacM4a({ sizes: words(0, slow.length, 1), data: slow, config: [0x11, 0x88] })), 1_024 / 7_350)
  near(audioSecondsMax(aacM4a({ sizes: words(0, 8, 10), data: Buffer.alloc(80 + 1_600) })), 1.28 + 100)
  const sizes = words(0, 8, 1_000)
  const data = Buffer.alloc(8_000)
  const again = Array.from({ length: 100 }, () => [1_000, 0, 0x1_0000]).flat()
  near(audioSecondsMax(aacM4a({ sizes, data, edits: words(0, 100, ...again) })), 12_800)
  near(audioSecondsMax(aacM4a({ sizes, data, edits: words(0, 2, 500, 0, 0x1_0000, 500, 4_000, 0x1_0000) })), 128)
  // Fragments of a track whose codec is known.
  const run = box('moof', box('traf', box('tfhd', words(0x10, 1, 8)), box('trun', words(1, 500, 64))))
  near(
    audioSecondsMax(
      Buffer.concat([aacM4a({ sizes: words(0, 0, 0), data: Buffer.alloc(0) }), run, box('mdat', Buffer.alloc(4_000))]),
    ),
    64,
  )
})

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
  const other = Buffer.concat([oggPage(7, 0n, Buffer.from('Other   '.padEnd(80))), oggPage(7, 1n, Buffer.alloc(10))])
  assert.equal(audioSecondsMax(other), other.length / 16)
})

/** The head of a Speex stream. */
function speexHead(fields: { rate: number; mode?: number; samples?: number; frames?: number }): Buffer {
  const head = Buffer.alloc(80)
  head.write('Speex   ', 'latin1')
  for (const [at, value] of [
    [36, fields.rate],
    [40, fields.mode ?? 0],
    [56, fields.samples ?? 160],
    [64, fields.frames ?? 1],
  ] as const)
    head.writeInt32LE(value, at)
  return head
}

test('ogg: a Speex packet counts as the frames that its head says or its bits make, whatever position its page claims', () => {
  const speex = (head: Buffer, packet: Buffer, count: number): number =>
    audioSecondsMax(
      Buffer.concat([oggPage(7, 0n, head), ...Array.from({ length: count }, () => oggPage(7, 1n, packet))]),
    )
  // Mode 3 at 8 kbit/s: 160 bits of 20 ms, as speexenc writes them.
  const honest = Buffer.concat([Buffer.from([0b0001_1000]), Buffer.alloc(19, 0x55)])
  const head = speex(speexHead({ rate: 8_000 }), honest, 0)
  near(speex(speexHead({ rate: 8_000 }), honest, 500) - head, 10)
  // The wide band: a frame of 300 bits with a layer of 192, and a terminator.
  const wide = Buffer.alloc(62)
  wide[0] = 0b0010_1000
  wide[37] = 0b0000_1011
  wide[61] = 0b0000_0111
  near(
    speex(speexHead({ rate: 16_000, mode: 1, samples: 320 }), wide, 50) -
      speex(speexHead({ rate: 16_000, mode: 1, samples: 320 }), wide, 0),
    1,
  )
  // Frames of silence in 5 bits, more of them than the head says, in whatever a packet is.
  near(speex(speexHead({ rate: 8_000 }), Buffer.alloc(50), 10) - head, 10 * 80 * 0.02)
  assert.ok(speex(speexHead({ rate: 8_000 }), Buffer.alloc(2_000), 1) - head > 3_199 * 0.02)
  // A head that makes a frame or a packet of anything.
  near(
    speex(speexHead({ rate: 8_000, frames: 64 }), honest, 10) -
      speex(speexHead({ rate: 8_000, frames: 64 }), honest, 0),
    10 * 64 * 0.02,
  )
  near(
    speex(speexHead({ rate: 8_000, samples: 80_000 }), honest, 1) -
      speex(speexHead({ rate: 8_000, samples: 80_000 }), honest, 0),
    10,
  )
  near(speex(speexHead({ rate: 80 }), honest, 10) - speex(speexHead({ rate: 80 }), honest, 0), 20)
  // Without a rate it is none: by its bytes.
  const broken = Buffer.concat([oggPage(7, 0n, speexHead({ rate: 0 })), oggPage(7, 1n, honest)])
  assert.equal(audioSecondsMax(broken), broken.length / 16)
})

test('webm: the frames of its blocks, whatever it says of times', () => {
  const plain = Buffer.from([0x81, 0, 0, 0x80, 0x18, 1, 2])
  // 60 ms each.
  near(audioSecondsMax(mutedWebm({ codec: 'A_OPUS', blocks: Array.from({ length: 100 }, () => plain) })), 6)
  // 256 frames in each block.
  const laced = Buffer.concat([Buffer.from([0x81, 0, 0, 0x84, 255]), Buffer.alloc(256, 0x18)])
  near(audioSecondsMax(mutedWebm({ codec: 'A_OPUS', blocks: [laced, laced] })), 512 * 0.06)
  const xiph = Buffer.from([0x81, 0, 0, 0x82, 2, 2, 1, 0x18, 0x18, 0x19, 0x18, 0x18])
  const ebml = Buffer.from([0x81, 0, 0, 0x86, 2, 0x82, 0xbe, 0x18, 0x18, 0x19, 0x18, 0x18])
  for (const block of [xiph, ebml]) near(audioSecondsMax(mutedWebm({ codec: 'A_OPUS', blocks: [block] })), 0.24)
  const config = Buffer.concat([Buffer.from([2, 30, 10]), vorbisIdentification(8_000), Buffer.alloc(20)])
  near(audioSecondsMax(mutedWebm({ codec: 'A_VORBIS', config, blocks: [laced, plain] })), 257 * (1_024 / 8_000))
  near(audioSecondsMax(mutedWebm({ codec: 'A_OTHER', blocks: [plain] })), 3 / 16)
  // A cluster inside another element, which decoders find where its size cannot be.
  const hidden = mutedWebm({ codec: 'A_OPUS', blocks: Array.from({ length: 100 }, () => plain) })
  assert.ok(
    audioSecondsMax(Buffer.concat([element('1a45dfa3', element('4282', Buffer.from('webm'))), element('ec', hidden)])) >
      6,
  )
})

test('m4a: samples of any size and place, read from the same bytes as often as the tables say, hold all their frames', () => {
  const piece = fc.oneof(
    fc.integer({ min: 1, max: 60 }).map((frames) => ({ frames, bytes: silentFrames(frames) })),
    fc.uint8Array({ minLength: 1, maxLength: 14 }).map((noise) => ({ frames: 1, bytes: filledFrame(noise) })),
  )
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 20 }), fc.integer({ min: 2, max: 40 }), (pieces, times) => {
      const silent = pieces.reduce((sum, { frames }) => sum + frames, 0)
      const data = Buffer.concat(pieces.map(({ bytes }) => bytes))
      const chunks = Array.from({ length: times }, () => 24)
      const held = audioSecondsMax(aacM4a({ sizes: words(0, data.length, times), data, chunks }))
      assert.ok(held >= silent * times * 0.128 - 1e-6, `${held} of ${silent * times * 0.128}`)
    }),
    { numRuns: 100 },
  )
})

test('webm: laced or not, each frame counts for itself', () => {
  const frames = fc.array(fc.tuple(fc.constantFrom(0x18, 0x19, 0x08, 0x80), fc.integer({ min: 1, max: 300 })), {
    minLength: 1,
    maxLength: 20,
  })
  fc.assert(
    fc.property(frames, fc.constantFrom('none', 'xiph', 'ebml'), (list, lacing) => {
      const bodies = list.map(([first, size]) => Buffer.concat([Buffer.from([first]), Buffer.alloc(size - 1, 3)]))
      const seconds = list.reduce(
        (sum, [first]) => sum + { 0x18: 0.06, 0x19: 0.12, 0x08: 0.02, 0x80: 0.0025 }[first as 0x18],
        0,
      )
      const blocks =
        lacing === 'none'
          ? bodies.map((body) => Buffer.concat([Buffer.from([0x81, 0, 0, 0x80]), body]))
          : [lacedBlock(bodies, lacing === 'xiph')]
      near(audioSecondsMax(mutedWebm({ codec: 'A_OPUS', blocks })), seconds)
    }),
  )
})

function lacedBlock(bodies: readonly Buffer[], isXiph: boolean): Buffer {
  const sizes = bodies.slice(0, -1).flatMap(({ length }, index) => {
    if (isXiph) return [...Array.from({ length: Math.floor(length / 255) }, () => 255), length % 255]
    const value = index === 0 ? length : length - (bodies[index - 1]?.length ?? 0) + 8_191
    return [0x40 | (value >> 8), value & 255]
  })
  return Buffer.concat([Buffer.from([0x81, 0, 0, isXiph ? 0x82 : 0x86, bodies.length - 1, ...sizes]), ...bodies])
}

test('matroska: plain sound by its form, lossless by its frames', () => {
  const audio = (rate: number, channels: number, bits: number): Buffer => {
    const float = Buffer.alloc(4)
    float.writeFloatBE(rate)
    return element(
      'e1',
      Buffer.concat([
        element('b5', float),
        element('9f', Buffer.from([channels])),
        element('6264', Buffer.from([bits])),
      ]),
    )
  }
  const block = (body: Buffer): Buffer => Buffer.concat([Buffer.from([0x81, 0, 0, 0x80]), body])
  near(
    audioSecondsMax(
      mutedWebm({ codec: 'A_PCM/INT/LIT', audio: audio(16_000, 2, 16), blocks: [block(Buffer.alloc(64_000))] }),
    ),
    1,
  )
  const slow = Buffer.concat([audio(16_000, 1, 16), element('e1', element('78b5', Buffer.from([0x42, 0xc8, 0, 0])))])
  near(audioSecondsMax(mutedWebm({ codec: 'A_PCM/INT/LIT', audio: slow, blocks: [block(Buffer.alloc(200))] })), 1)
  const blocks = Array.from({ length: 100 }, (_value, index) => block(flacFrame(12, index)))
  near(
    audioSecondsMax(mutedWebm({ codec: 'A_FLAC', config: flacFile(16_000, 1), audio: audio(16_000, 1, 16), blocks })),
    25.6,
  )
  const cookie = Buffer.alloc(24)
  cookie.writeUInt32BE(4_096, 0)
  cookie.writeUInt32BE(16_000, 20)
  near(
    audioSecondsMax(
      mutedWebm({ codec: 'A_ALAC', config: cookie, audio: audio(16_000, 1, 16), blocks: [block(Buffer.alloc(9))] }),
    ),
    0.256,
  )
})

test('ogg: FLAC by its frames, also across pages', () => {
  const head = Buffer.concat([Buffer.from('\u007fFLAC\u0001\u0000\u0000\u0001', 'latin1'), flacFile(16_000, 1)])
  const frame = flacFrame(12, 1)
  const file = Buffer.concat([
    oggPage(1, 0n, head),
    oggPage(1, 0n, frame.subarray(0, 3)),
    oggPage(1, 0n, frame.subarray(3)),
    oggPage(1, 1n, frame),
  ])
  near(audioSecondsMax(file), 0.512)
})

test('a file that is no sound has no length', () => {
  for (const bytes of [Buffer.alloc(5_000), Buffer.from('text'.repeat(1_000)), Buffer.alloc(5_000, 0xff)])
    assert.equal(audioSecondsMax(bytes), 0)
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
    Buffer.concat([ftyp, Buffer.alloc(10_000_000, box('free'))]),
    Buffer.concat([ftyp, Buffer.alloc(10_000_000, box('trun', words(0x200, 0xffff_ffff)))]),
    Buffer.concat([ftyp, Buffer.alloc(10_000_000, box('trak'))]),
    aacM4a({ sizes: Buffer.concat([words(0, 0, 0xffff_ffff), Buffer.alloc(10_000_000)]), data: Buffer.alloc(0) }),
    aacM4a({
      sizes: words(0, 8, 1),
      data: Buffer.alloc(0),
      edits: Buffer.concat([words(0, 10_000), Buffer.alloc(120_000, 1)]),
    }),
    Buffer.concat([webm, Buffer.alloc(10_000_000, Buffer.from([0xa3, 0x80]))]),
    Buffer.concat([webm, Buffer.alloc(10_000_000, Buffer.from([0xae, 0x80]))]),
    Buffer.concat([webm, Buffer.alloc(10_000_000, Buffer.from([0xa3, 0x85, 0x81, 0, 0, 0x84, 0xff]))]),
    Buffer.concat([
      oggPage(7, 0n, vorbisIdentification(8_000)),
      Buffer.alloc(10_000_000, oggPage(7, 0n, Buffer.alloc(0))),
    ]),
  ]
  const random = randomBytes(10_000_000)
  tables.push(
    aacM4a({ sizes: words(0, 400, 25_000), data: random }),
    aacM4a({ sizes: words(0, 10_000_000, 1), data: random }),
    Buffer.alloc(10_000_000, adtsFrames(3)),
  )
  const worst = [
    ...tables,
    Buffer.concat([flacFile(16_000, 1), Buffer.alloc(10_000_000, Buffer.from([0xff, 0xf8, 0xc0]))]),
    Buffer.concat([
      oggPage(1, 0n, opusHead(0)),
      Buffer.alloc(10_000_000, Buffer.concat([Buffer.from('OggS'), Buffer.alloc(23)])),
    ]),
    Buffer.alloc(10_000_000, id3Tag(0)),
  ]
  for (const bytes of worst) noStall(bytes.toString('latin1', 4, 60), () => audioSecondsMax(bytes))
})
