import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { aacFrames, type AacSample } from '../../../../test/harness/aac-sample.ts'
import {
  ac3Frames,
  aiffFile,
  amrFile,
  eac3Frames,
  element,
  flacFile,
  mp3Frames,
  oggPage,
  opusHead,
  wavFile,
  xingFrame,
} from '../../../../test/harness/audio-files.ts'
import { noStall } from '../../../../test/harness/patience.ts'
import {
  aacM4a,
  flacFrame,
  mutedWebm,
  silentFrames,
  vorbisIdentification,
  words,
} from '../../../../test/harness/audio-tracks.ts'
import { audioSecondsMax } from './audio-bound.ts'
import { AUDIO_CONTAINERS, audioContainer } from './audio-duration.ts'

const SECONDS = 20
const MAX_BYTES = 10_485_760

interface Row {
  readonly container: keyof typeof AUDIO_CONTAINERS
  readonly honest: Buffer
  readonly seconds: number
  /** The same sound, or more of it, under a head that says that it is shorter. */
  readonly lying: Buffer
  readonly lyingSeconds?: number
}

const MONO = aacFrames('mono')
const STEREO = aacFrames('stereo')

function adtsOf({ frames }: AacSample, count: number): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_value, index) => frames[index % frames.length] ?? Buffer.alloc(0)),
  )
}

/** The frames without their headers, in a movie. */
function m4aOf({ frames, config }: AacSample, count: number): Buffer {
  const bare = Array.from({ length: count }, (_value, index) =>
    (frames[index % frames.length] ?? Buffer.alloc(0)).subarray(7),
  )
  return aacM4a({
    sizes: words(0, 0, count, ...bare.map(({ length }) => length)),
    data: Buffer.concat(bare),
    config,
  })
}

function aacRow(sample: AacSample, seconds = SECONDS): Row {
  const count = Math.round((seconds * sample.rate) / 1_024)
  const honest = adtsOf(sample, count)
  const lying = Buffer.from(honest)
  // The first header says 96 kHz.
  lying[2] = (lying[2] ?? 0) & 0xc3
  return { container: 'aac', honest, lying, seconds: (count * 1_024) / sample.rate }
}

function m4aRow(sample: AacSample, seconds = SECONDS): Row {
  const count = Math.round((seconds * sample.rate) / 1_024)
  const honest = m4aOf(sample, count)
  // The duration of the head is a second already.
  return { container: 'm4a', honest, lying: honest, seconds: (count * 1_024) / sample.rate }
}

function opusOf(granule: bigint): Buffer {
  const page = oggPage(1, granule, Buffer.from([0x18, 1, 2, 3]))
  const pages = Array.from({ length: 333 }, () => page)
  return Buffer.concat([oggPage(1, 0n, opusHead(0)), oggPage(1, 0n, Buffer.from('OpusTags')), ...pages])
}

function vorbisOf(granule: bigint): Buffer {
  const pages = Array.from({ length: 400 }, () => oggPage(7, granule, Buffer.alloc(40)))
  return Buffer.concat([
    oggPage(7, 0n, vorbisIdentification(16_000)),
    oggPage(7, 0n, Buffer.from('\u0003vorbis', 'latin1')),
    ...pages,
  ])
}

function flacOf(samples: number): Buffer {
  const frames = Array.from({ length: 78 }, (_value, index) =>
    Buffer.concat([flacFrame(12, index), Buffer.alloc(4_000, 7)]),
  )
  return Buffer.concat([flacFile(16_000, samples), ...frames])
}

const opusWebm = mutedWebm({
  codec: 'A_OPUS',
  blocks: Array.from({ length: 333 }, () => Buffer.from([0x81, 0, 0, 0x80, 0x18, 1, 2])),
})
const short = wavFile(SECONDS)
short.writeUInt32LE(100, 40)

const FORMATS: Readonly<Record<string, Row>> = {
  wav: { container: 'wav', honest: wavFile(SECONDS), seconds: SECONDS, lying: short },
  aiff: { container: 'aiff', honest: aiffFile(SECONDS), seconds: SECONDS, lying: aiffFile(SECONDS, { frames: 1 }) },
  'aiff, compressed form': {
    container: 'aiff',
    honest: aiffFile(SECONDS, { type: 'sowt' }),
    seconds: SECONDS,
    // A form that packs sound tightly.
    lying: aiffFile(SECONDS, { type: 'QDM2', frames: 1 }),
    lyingSeconds: 10 * SECONDS,
  },
  mp3: {
    container: 'mp3',
    honest: mp3Frames(766, [64, 128, 320]),
    seconds: (766 * 1_152) / 44_100,
    lying: Buffer.concat([xingFrame(), mp3Frames(766)]),
  },
  'aac, mono': aacRow(MONO),
  'aac, stereo': aacRow(STEREO),
  'aac of the largest size': aacRow(STEREO, 580),
  'm4a, mono': m4aRow(MONO),
  'm4a, stereo': m4aRow(STEREO),
  'm4a of the largest size': m4aRow(STEREO, 580),
  'ac-3': {
    container: 'ac3',
    honest: ac3Frames(625),
    seconds: 20,
    // The first frame is of another rate.
    lying: Buffer.concat([ac3Frames(1), ac3Frames(624, 2)]),
    lyingSeconds: (624 * 1_536) / 32_000,
  },
  'e-ac-3': {
    container: 'ac3',
    honest: eac3Frames(625),
    seconds: 20,
    // The first frames have a single block.
    lying: Buffer.concat([eac3Frames(3, { blocks: 1 }), eac3Frames(625, { size: 8 })]),
  },
  amr: { container: 'amr', honest: amrFile(1_000, 'narrow', 7), seconds: 20, lying: amrFile(1_000, 'narrow', 15) },
  'amr, wide': { container: 'amr', honest: amrFile(1_000, 'wide', 8), seconds: 20, lying: amrFile(1_000, 'wide', 15) },
  flac: { container: 'flac', honest: flacOf(78 * 4_096), seconds: (78 * 4_096) / 16_000, lying: flacOf(1) },
  'ogg, opus': { container: 'ogg', honest: opusOf(960_000n), seconds: 333 * 0.06, lying: opusOf(1n) },
  'ogg, vorbis': { container: 'ogg', honest: vorbisOf(320_000n), seconds: 400 * (1_024 / 16_000), lying: vorbisOf(1n) },
  webm: { container: 'webm', honest: opusWebm, seconds: 333 * 0.06, lying: opusWebm },
}

test('every container has a row here', () => {
  assert.deepEqual(
    [...new Set(Object.values(FORMATS).map(({ container }) => container))].toSorted(),
    Object.keys(AUDIO_CONTAINERS).toSorted(),
  )
})

for (const [name, { container, honest, seconds, lying, lyingSeconds = seconds }] of Object.entries(FORMATS))
  test(`${name}: held by its own length and at most a fifth more, and a head that lies lowers nothing`, () => {
    assert.ok(honest.length <= MAX_BYTES)
    assert.equal(audioContainer(honest), container)
    assert.equal(audioContainer(lying), container)
    const held = audioSecondsMax(honest)
    const most = container === 'aac' || container === 'm4a' ? 1.1 : 1.2
    assert.ok(held >= seconds - 1e-6 && held <= seconds * most, `${held} for ${seconds}`)
    const heldOfLying = audioSecondsMax(lying)
    assert.ok(heldOfLying >= lyingSeconds - 1e-6, `${heldOfLying} for ${lyingSeconds}`)
  })

/** A silent frame with a header of 7,350 Hz. */
function slowHeader(): Buffer {
  return Buffer.concat([Buffer.from([0xff, 0xf1, 0x40 | (12 << 2), 0x40, 0x01, 0xff, 0xfc]), silentFrames(1)])
}

test('aac: a header behind the first frame of a later packet counts, and what looks like one in sound does not', () => {
  const count = 500
  const bare = Array.from({ length: count }, (_value, index) =>
    (STEREO.frames[index % STEREO.frames.length] ?? Buffer.alloc(0)).subarray(7),
  )
  const hidden = [...bare]
  hidden[300] = Buffer.concat([silentFrames(1), slowHeader()])
  const movie = (packets: readonly Buffer[]): number =>
    audioSecondsMax(
      aacM4a({
        sizes: words(0, 0, count, ...packets.map(({ length }) => length)),
        data: Buffer.concat(packets),
        config: STEREO.config,
      }),
    )
  assert.ok(movie(bare) < (count * 1_024 * 1.1) / 44_100)
  assert.ok(movie(hidden) >= (199 * 1_024) / 7_350, `${movie(hidden)}`)
  // An element that holds any data: the frame goes on behind it.
  const filled = Buffer.from(bare[0] ?? Buffer.alloc(0))
  const data = Buffer.concat([Buffer.from([0x81, 11]), slowHeader()])
  const looks = Buffer.concat([data, filled])
  const plain = movie([looks, ...bare.slice(1)])
  assert.ok(plain < (count * 1_024 * 1.1) / 44_100, `${plain}`)
})

test('aac: frames behind the first of a packet count, also in a stream and of whatever form', () => {
  const header = (size: number): Buffer =>
    Buffer.from([0xff, 0xf1, 0x50, 0x80 | (size >> 11), (size >> 3) & 255, ((size & 7) << 5) | 31, 0xfc])
  const packets = Array.from({ length: 50 }, (_value, index) => {
    const packet = Buffer.concat([
      (STEREO.frames[index % STEREO.frames.length] ?? Buffer.alloc(0)).subarray(7),
      silentFrames(100),
    ])
    return Buffer.concat([header(packet.length + 7), packet])
  })
  const held = audioSecondsMax(Buffer.concat(packets))
  assert.ok(held >= (50 * 101 * 1_024) / 44_100, `${held}`)
})

test('two streams in one file: the longer one counts', () => {
  const few = mp3Frames(10)
  const aac = adtsOf(MONO, 1_000)
  assert.ok(audioSecondsMax(Buffer.concat([few, aac])) >= (1_000 * 1_024) / MONO.rate)
  assert.ok(audioSecondsMax(Buffer.concat([adtsOf(MONO, 10), mp3Frames(1_000)])) >= (1_000 * 1_152) / 44_100)
})

test('the largest body of every format, honest or not, takes a moment', () => {
  const fill = (unit: Buffer, head: Buffer = Buffer.alloc(0)): Buffer =>
    Buffer.concat([head, Buffer.alloc(MAX_BYTES - head.length, unit)])
  const dense = Buffer.concat([Buffer.from([0xff, 0xf1, 0x50, 0x80, 0xff, 0xff, 0xfc]), Buffer.alloc(2_033)])
  const worst: readonly (readonly [string, Buffer])[] = [
    ['zeros', fill(Buffer.from([0]))],
    ['ones', fill(Buffer.from([0xff]))],
    ['random', randomBytes(MAX_BYTES)],
    ['headers of AAC', fill(Buffer.from([0xff, 0xf1, 0x50]), adtsOf(STEREO, 5))],
    ['headers of AAC that follow each other', fill(Buffer.from([0xff, 0xf1, 0x50, 0x80, 0x00, 0xff, 0xfc]))],
    ['packets of AAC that end nowhere', fill(dense)],
    ['AAC', adtsOf(STEREO, 28_000).subarray(0, MAX_BYTES)],
    ['AAC of which all packets are read', adtsOf(STEREO, 10_700)],
    ['AAC, mono', fill(adtsOf(MONO, 1_000))],
    [
      'headers of AAC in MP3',
      fill(Buffer.concat([mp3Frames(1), Buffer.from('fff15080ffe0'.repeat(50), 'hex')]), mp3Frames(5)),
    ],
    [
      'headers of AAC in a movie',
      aacM4a({ sizes: words(0, 0, 1, 8), data: fill(Buffer.from([0xff, 0xf1, 0x50])), config: [0x12, 0x10] }),
    ],
    [
      'headers of AAC in packets of a movie',
      aacM4a({ sizes: words(0, 400, 25_000), data: fill(Buffer.from([0xff, 0xf1, 0x50])), config: [0x12, 0x10] }),
    ],
    ['AC-3', fill(ac3Frames(1))],
    ['short frames of E-AC-3', fill(eac3Frames(1, { size: 6 }))],
    ['marks of AC-3', fill(Buffer.from([0x0b, 0x77]), ac3Frames(3))],
    ['AMR without sound', fill(Buffer.from([0x7c]), Buffer.from('#!AMR\n'))],
    ['chunks of AIFF', fill(Buffer.from('COMM\0\0\0\0', 'latin1'), aiffFile(1))],
    ['MP3', fill(mp3Frames(1))],
    ['WebM', fill(element('a3', Buffer.from([0x81, 0, 0, 0x80, 0x18])), opusWebm.subarray(0, 100))],
  ]
  for (const [name, bytes] of worst) noStall(name, () => [audioContainer(bytes), audioSecondsMax(bytes)])
})
