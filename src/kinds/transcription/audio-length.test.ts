import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  adtsFrames,
  aiffFile,
  amrFile,
  box,
  element,
  flacFile,
  id3Tag,
  mp3Frames,
  oggPage,
  opusHead,
  wavFile,
  words,
} from '../../../test/harness/audio-files.ts'
import { isNoStall } from '../../../test/harness/patience.ts'
import { AUDIO_CONTAINERS, audioContainer, type AudioContainer } from './audio-container.ts'
import { audioLength, type AudioLength } from './audio-length.ts'

const SOUNDS = join(import.meta.dirname, '../../../test/harness/sounds')
/**
 * A second of a tone or of silence, written by FFmpeg 9, with the length that it states; null = it states none that we
 * read.
 */
const FILES: Readonly<Record<string, readonly [container: AudioContainer, seconds: number | null]>> = {
  'sine.mp3': ['mp3', 1.224],
  'no-table.mp3': ['mp3', 1.152],
  'sine.aac': ['aac', 1.152],
  'sine.m4a': ['m4a', 1.128],
  'fragments.m4a': ['m4a', 1.128],
  'film.mp4': ['m4a', 1.128],
  'opus.ogg': ['ogg', 1],
  'vorbis.ogg': ['ogg', 1],
  'sine.webm': ['webm', 1.008],
  'recorder.webm': ['webm', null],
  'silence.flac': ['flac', 1],
  'wide.wav': ['wav', 1],
  'adpcm.wav': ['wav', null],
  'sine.ac3': ['ac3', null],
}
const BODY_BYTES_MAX = 10_485_760
const MADE: Readonly<Record<string, readonly [bytes: Buffer, container: AudioContainer, seconds: number | null]>> = {
  'wav of an unknown size': [wavFile(2, { declared: 0xffff_ffff }), 'wav', 2],
  'mp3 of many rates': [mp3Frames(99, [64, 128, 320]), 'mp3', (99 * 1_152) / 44_100],
  'mp3 behind tags': [Buffer.concat([id3Tag(3_000), id3Tag(0), mp3Frames(50)]), 'mp3', (50 * 1_152) / 44_100],
  'mp3 with strays': [
    Buffer.concat([mp3Frames(10), Buffer.alloc(777, 0xff), mp3Frames(10)]),
    'mp3',
    (20 * 1_152) / 44_100,
  ],
  'aac, frame by frame': [adtsFrames(75), 'aac', 3.2],
  aiff: [aiffFile(2), 'aiff', 2],
  amr: [amrFile(100, 'narrow', 7), 'amr', null],
}

function sound(name: string): Buffer {
  return readFileSync(join(SOUNDS, name))
}

async function lengthOf(bytes: Buffer): Promise<AudioLength> {
  return audioLength(bytes, audioContainer(bytes))
}

const all = [
  ...Object.entries(FILES).map(([name, [container, seconds]]) => [name, sound(name), container, seconds] as const),
  ...Object.entries(MADE).map(([name, [bytes, container, seconds]]) => [name, bytes, container, seconds] as const),
]
for (const [name, bytes, container, seconds] of all)
  test(`${name}: its container, and its length, which is held for; else its bytes at 8 kbit/s are`, async () => {
    assert.equal(audioContainer(bytes), container)
    const length = await lengthOf(bytes)
    assert.equal(
      length.seconds === null ? null : Math.round(length.seconds * 1e9) / 1e9,
      seconds && Math.round(seconds * 1e9) / 1e9,
    )
    assert.equal(length.heldSeconds, length.seconds ?? bytes.length / 1_000)
    assert.ok(length.secondsMax >= length.heldSeconds)
  })

test('every container has a file here', () => {
  assert.deepEqual(
    [...new Set(all.map(([, , container]) => container))].toSorted(),
    Object.keys(AUDIO_CONTAINERS).toSorted(),
  )
})

const MUCH = Buffer.alloc(400_000, 7)

test('a file that says a second and has the bytes of more is held for by its bytes, at 8 kbit/s or at the rate of its samples', async () => {
  const opus = sound('opus.ogg')
  const last = opus.lastIndexOf('OggS')
  const pages = Array.from({ length: 100 }, (_value, index) =>
    oggPage(opus.readUInt32LE(14), BigInt(index), MUCH.subarray(0, 4_000)),
  )
  const stored = wavFile(20)
  stored.writeUInt32LE(100, 40)
  for (const [what, bytes, rate] of [
    ['flac', Buffer.concat([flacFile(8_000, 8_000), MUCH]), 1_000],
    ['ogg', Buffer.concat([opus.subarray(0, last), ...pages, opus.subarray(last)]), 1_000],
    ['m4a', Buffer.concat([sound('sine.m4a'), box('mdat', MUCH)]), 1_000],
    ['webm', Buffer.concat([sound('sine.webm'), element('ec', MUCH)]), 1_000],
    ['wav', stored, 32_000],
    ['aiff', aiffFile(20, { frames: 1 }), 32_000],
    ['mp3, of noise', Buffer.concat([mp3Frames(5), MUCH]), 1_000],
  ] as const) {
    const { seconds, heldSeconds } = await lengthOf(bytes)
    assert.deepEqual([seconds, heldSeconds], [null, bytes.length / rate], what)
  }
  // The encoder's table says a fraction of a second: the frames count instead.
  const { seconds } = await lengthOf(Buffer.concat([sound('sine.mp3'), mp3Frames(1_000)]))
  assert.ok((seconds ?? 0) > 26)
})

test('a length that no bytes can have, or of a month, is not believed', async () => {
  assert.equal((await lengthOf(flacFile(8_000, 8_000 * 50_000))).seconds, null)
  assert.equal((await lengthOf(Buffer.concat([flacFile(1, 2 ** 31), Buffer.alloc(BODY_BYTES_MAX)]))).seconds, null)
})

test('what is no sound has no container', () => {
  for (const bytes of ['', 'x', 'PK\u0003\u0004', '<html></html>', 'RIFF....AVI ', '\u00ff\u00fb', 'ID3'])
    assert.equal(audioContainer(Buffer.from(bytes, 'latin1')), null, bytes)
})

test('damage never throws and never makes a length that is none', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...all.map(([, bytes]) => bytes)),
      fc.nat(2_000),
      fc.uint8Array({ maxLength: 20 }),
      async (file, at, noise) => {
        const damaged = Buffer.concat([file.subarray(0, at), Buffer.from(noise), file.subarray(at + noise.length)])
        for (const bytes of [damaged, damaged.subarray(0, at)]) {
          const { seconds, heldSeconds, secondsMax } = await lengthOf(bytes)
          assert.ok(seconds === null || seconds > 0)
          assert.ok(Number.isFinite(heldSeconds) && Number.isFinite(secondsMax) && heldSeconds <= secondsMax)
        }
      },
    ),
    { numRuns: 500 },
  )
})

function repeated(unit: Buffer, ...head: readonly Buffer[]): Buffer {
  const start = Buffer.concat(head)
  return Buffer.concat([start, Buffer.alloc(BODY_BYTES_MAX - start.length, unit)])
}

function latin(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** Empty boxes, each in the one before. */
function nested(name: string, depth: number): Buffer {
  const head = Buffer.alloc(8 * depth)
  for (let at = 0; at < head.length; at += 8) {
    head.writeUInt32BE(head.length - at, at)
    head.write(name, at + 4, 'latin1')
  }
  return head
}

function movie(...tables: readonly Buffer[]): Buffer {
  const track = box('trak', box('mdia', box('minf', box('stbl', ...tables))))
  return Buffer.concat([box('ftyp', latin('M4A '), words(0)), box('moov', track)])
}

function firstPage(serial: number): Buffer {
  const page = oggPage(serial, 0n, opusHead(0))
  page[5] = 2
  return page
}

/** The comments of Opus, in pages of 64 kB. */
function commented(comments: Buffer): Buffer {
  const pages: Buffer[] = [firstPage(1)]
  for (let at = 0; at < comments.length; at += 64_770) {
    const page = oggPage(1, 0n, comments.subarray(at, at + 64_770))
    page[5] = at === 0 ? 0 : 1
    pages.push(page)
  }
  return Buffer.concat(pages)
}

const EBML = Buffer.from('1a45dfa3934282887765626d1853806701ffffffffffffff', 'hex')
const AVI_HEAD = latin('RIFF\u00ff\u00ff\u00ff\u007fWAVE')
const AIFF_HEAD = latin('FORM\u007f\u00ff\u00ff\u00ffAIFF')
const FTYP = box('ftyp', latin('M4A '), words(0))
const ID3_FRAMES = repeated(latin('TIT2\0\0\0\u0002\0\0\0a')).subarray(0, 60_000)
const TINY_MP3 = Buffer.concat([Buffer.from([0xff, 0xf3, 0x18, 0xc4]), Buffer.alloc(20)])

/** Files of the largest size, or near it, made of whatever costs a reader the most time. */
const HOSTILE: Readonly<Record<string, Buffer>> = {
  ...Object.fromEntries(
    [
      ['ogg', firstPage(1)],
      ['webm', EBML],
      ['flac', latin('fLaC')],
      ['wav', AVI_HEAD],
      ['aiff', AIFF_HEAD],
      ['m4a', FTYP],
      ['mp3', mp3Frames(3)],
      ['aac', adtsFrames(3)],
      ['ac3', latin('\u000bw')],
      ['amr', latin('#!AMR\n')],
    ].flatMap(([name, head]) => [
      [`${name}, then noise`, Buffer.concat([head as Buffer, randomBytes(BODY_BYTES_MAX)])],
      ...[0, 1, 0xff].map((byte) => [`${name}, then ${byte}`, repeated(Buffer.from([byte]), head as Buffer)]),
    ]),
  ),
  'ogg of many streams': Buffer.concat(Array.from({ length: 150_000 }, (_value, index) => firstPage(index))),
  'ogg of empty pages': repeated(oggPage(1, 0n, Buffer.alloc(0)), firstPage(1)),
  'ogg of many comments': commented(
    Buffer.concat([latin('OpusTags\0\0\0\0\u00ff\u00ff\u00ff\u007f'), repeated(latin('\u0003\0\0\0a=b'))]),
  ),
  'boxes in boxes': Buffer.concat([FTYP, nested('moov', 1_000_000)]),
  'empty boxes': repeated(box('free'), FTYP),
  'empty tracks': Buffer.concat([FTYP, box('moov', repeated(box('trak')))]),
  'a table of samples as large as the file': movie(box('stsz', words(0, 0, 2_000_000), Buffer.alloc(8_000_000, 1))),
  'many tables': movie(
    ...Array.from({ length: 150 }, () => box('stsz', words(0, 0, 16_000), Buffer.alloc(64_000, 1))),
    ...Array.from({ length: 10 }, () => box('stts', words(0, 8_000), Buffer.alloc(64_000, 1))),
  ),
  'a table that says four thousand million entries': movie(box('stts', words(0, 0xffff_ffff), Buffer.alloc(64))),
  'names of a song': Buffer.concat([
    FTYP,
    box(
      'moov',
      box('udta', box('meta', words(0), box('ilst', repeated(box('\u00a9nam', box('data', words(1, 0, 1))))))),
    ),
  ]),
  'runs of fragments': repeated(
    box('moof', box('mfhd', words(0, 1)), box('traf', box('tfhd', words(0, 1)), box('trun', words(0, 0xffff_ffff)))),
    sound('fragments.m4a'),
  ),
  'segments in segments': repeated(EBML.subarray(12), EBML),
  'empty elements': repeated(Buffer.from('ec80', 'hex'), EBML),
  'empty clusters': repeated(Buffer.from('1f43b67580', 'hex'), EBML),
  'an element of a huge size': Buffer.concat([EBML, Buffer.from('1549a96601ffffffffffff00', 'hex'), MUCH]),
  'blocks of FLAC': repeated(Buffer.from([1, 0, 0, 0]), latin('fLaC')),
  'chunks of WAV': repeated(latin('junk\0\0\0\0'), AVI_HEAD),
  'a tag in WAV': Buffer.concat([
    AVI_HEAD,
    latin('id3 \u0000\u00f0\0\0ID3\u0004\0\0\0\u0003\u0060\0'),
    ID3_FRAMES,
    MUCH,
  ]),
  'a list in WAV': repeated(latin('INAM\u0002\0\0\0a\0'), AVI_HEAD, latin('LIST\u00ff\u00ff\u009f\0INFO')),
  'chunks of AIFF': repeated(latin('COMM\0\0\0\0'), AIFF_HEAD),
  'empty tags': repeated(latin('ID3\u0004\0\0\0\0\0\0'), mp3Frames(3)),
  'tiny frames of MP3': repeated(TINY_MP3),
  'tiny frames of AAC': repeated(Buffer.from([0xff, 0xf1, 0x58, 0x40, 0, 0xe0, 0])),
  'marks of frames': repeated(Buffer.from([0xff, 0xfb]), mp3Frames(3)),
}

/** CPU time in ms: of the longest stretch of work in which nothing else got a turn, and of the whole. */
async function stretches(work: () => Promise<unknown>): Promise<{ longestMs: number; wholeMs: number }> {
  const usedMs = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  const startMs = usedMs()
  let lastMs = startMs
  let longestMs = 0
  const look = (): void => {
    longestMs = Math.max(longestMs, usedMs() - lastMs)
    lastMs = usedMs()
  }
  let running = true
  const turn = (): void => {
    look()
    if (running) setImmediate(turn)
  }
  setImmediate(turn)
  await work()
  running = false
  look()
  return { longestMs, wholeMs: usedMs() - startMs }
}

for (const [what, bytes] of Object.entries(HOSTILE))
  test(`10 MB of what takes longest to read take a moment, in which others have their turn: ${what}`, async () => {
    for (let tried = 1; ; tried += 1) {
      const { longestMs, wholeMs } = await stretches(() => lengthOf(bytes))
      if (isNoStall(what, longestMs, tried) && isNoStall(`${what}, as a whole`, wholeMs / 5, tried)) break
    }
  })
