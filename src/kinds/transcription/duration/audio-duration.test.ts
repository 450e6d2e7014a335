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
  xingFrame,
} from '../../../../test/harness/audio-files.ts'
import { audioContainer, audioSeconds } from './audio-duration.ts'
import { cpuMs } from '../../../../test/harness/patience.ts'

test('wav: by the sample form, whatever size the header says; a byte rate that lies is not asked', () => {
  assert.equal(audioSeconds(wavFile(1.1)), 1.1)
  assert.equal(audioSeconds(wavFile(2, { declared: 0 })), 2)
  assert.equal(audioSeconds(wavFile(2, { declared: 0xffff_ffff })), 2)
  const lying = wavFile(2)
  lying.writeUInt32LE(1_000_000_000, 28)
  assert.equal(audioSeconds(lying), 2)
  const listed = wavFile(3)
  assert.equal(
    audioSeconds(
      Buffer.concat([
        listed.subarray(0, 36),
        Buffer.from('LIST\u0003\u0000\u0000\u0000abc\u0000', 'latin1'),
        listed.subarray(36),
      ]),
    ),
    3,
  )
  assert.equal(audioSeconds(wavFile(1).subarray(0, 30)), null)
})

test('mp3: frame by frame, of one bit rate or many, behind tags, with a table that is no sound, and with strays between', () => {
  const second = 1_152 / 44_100
  const near = (bytes: Buffer, frames: number): void =>
    assert.ok(Math.abs((audioSeconds(bytes) ?? 0) - frames * second) < 1e-9, `${audioSeconds(bytes)}`)
  near(mp3Frames(100), 100)
  near(mp3Frames(99, [64, 128, 320]), 99)
  near(Buffer.concat([xingFrame(), mp3Frames(50)]), 50)
  near(Buffer.concat([id3Tag(3_000), mp3Frames(50)]), 50)
  near(Buffer.concat([id3Tag(30), id3Tag(0), mp3Frames(10), Buffer.from('TAG'.padEnd(128))]), 10)
  near(Buffer.concat([mp3Frames(10), Buffer.alloc(777, 0xff), mp3Frames(10)]), 20)
  assert.equal(audioSeconds(Buffer.alloc(10_000, 0xff)), null)
  assert.equal(audioSeconds(id3Tag(100)), null)
})

test('ogg: the last position of each stream, less what Opus skips', () => {
  const opus = Buffer.concat([
    oggPage(1, 0n, opusHead(312)),
    oggPage(1, -1n, Buffer.alloc(600)),
    oggPage(1, 48_312n, Buffer.alloc(255)),
    oggPage(1, 96_312n, Buffer.alloc(10)),
  ])
  assert.equal(audioSeconds(opus), 2)
  const vorbis = Buffer.concat([oggPage(7, 0n, vorbisHead(44_100)), oggPage(7, 66_150n, Buffer.alloc(10))])
  assert.equal(audioSeconds(vorbis), 1.5)
  assert.equal(audioSeconds(Buffer.concat([opus, vorbis])), 3.5)
  assert.equal(audioSeconds(oggPage(1, 5n, Buffer.alloc(100))), null)
  assert.equal(
    audioSeconds(
      Buffer.concat([
        oggPage(
          1,
          0n,
          Buffer.concat([Buffer.from('\u007fFLAC\u0001\u0000\u0000\u0001', 'latin1'), flacFile(8_000, 0)]),
        ),
        oggPage(1, 4_000n, Buffer.alloc(1)),
      ]),
    ),
    0.5,
  )
})

test('flac: the samples of the head; 0 means unknown', () => {
  assert.equal(audioSeconds(flacFile(44_100, 44_100 * 9)), 9)
  assert.equal(audioSeconds(flacFile(192_000, 192_000 * 30_000)), 30_000)
  assert.equal(audioSeconds(flacFile(44_100, 0)), null)
})

test('aac: frame by frame', () => {
  assert.equal(audioSeconds(adtsFrames(75)), (75 * 1_024) / 24_000)
})

test('m4a: of the sound track, not of the film; fragments are added up', () => {
  assert.equal(audioSeconds(m4aFile(44_100, 441_000)), 10)
  assert.equal(audioSeconds(fragmentedM4a()), (150 * 1_024) / 48_000)
  const silentFilm = Buffer.concat([
    box('ftyp', Buffer.from('isom\u0000\u0000\u0000\u0000')),
    box('moov', box('mvhd', Buffer.from('000000000000000000000000000003e8000007d000000000', 'hex'))),
  ])
  assert.equal(audioSeconds(silentFilm), 2)
})

test('webm: its own duration, or the time of the last block of a recording that was never finished', () => {
  assert.equal(audioSeconds(webmFile(12_345, 3_000)), 12.345)
  assert.equal(audioSeconds(webmFile(null, 3_400)), 3.4)
  assert.equal(audioSeconds(element('1a45dfa3', Buffer.alloc(0))), null)
})

test('a file that is no audio has no duration, and neither has one of a month', () => {
  for (const bytes of ['', 'x', 'PK\u0003\u0004', '<html></html>', 'RIFF....AVI '])
    assert.equal(audioContainer(Buffer.from(bytes, 'latin1')), null)
  assert.equal(audioSeconds(m4aFile(1, 0xffff_fff0)), null)
})

test('damage never throws, and 10 MB of whatever costs most to read takes a moment', () => {
  const files = [
    wavFile(0.1),
    mp3Frames(5),
    oggPage(1, 0n, opusHead(0)),
    flacFile(1, 1),
    adtsFrames(3),
    m4aFile(1, 1),
    fragmentedM4a(),
    webmFile(null, 100),
  ]
  fc.assert(
    fc.property(fc.constantFrom(...files), fc.nat(2_000), fc.uint8Array({ maxLength: 20 }), (file, at, noise) => {
      const damaged = Buffer.concat([file.subarray(0, at), Buffer.from(noise), file.subarray(at + noise.length)])
      for (const bytes of [damaged, damaged.subarray(0, at)]) {
        const seconds = audioSeconds(bytes)
        assert.ok(seconds === null || (seconds > 0 && Number.isFinite(seconds)))
      }
    }),
    { numRuns: 500 },
  )
  const big = (unit: Buffer): Buffer => Buffer.alloc(10_000_000, unit)
  const hostile = [
    Buffer.concat([mp3Frames(2), big(Buffer.from([0xff]))]),
    Buffer.concat([wavFile(0).subarray(0, 36), big(Buffer.from('LIST\u0000\u0000\u0000\u0000', 'latin1'))]),
    big(oggPage(1, 0n, Buffer.alloc(0))),
    Buffer.concat([box('ftyp', Buffer.from('isom')), big(box('free'))]),
    Buffer.concat([element('1a45dfa3', Buffer.alloc(0)), big(Buffer.from([0xa3, 0x80]))]),
    big(Buffer.from([0xff, 0xf3, 0x14, 0xc0, ...Buffer.alloc(20)])),
    big(adtsFrames(1).subarray(0, 7).fill(0x00, 4, 5).fill(0xe0, 5, 6)),
  ]
  for (const bytes of hostile) {
    const usedMs = cpuMs(() => audioSeconds(bytes))
    assert.ok(usedMs < 1_500, `${bytes.toString('latin1', 0, 4)} ${usedMs}`)
  }
})
