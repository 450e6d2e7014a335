import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { adtsFrames, flacFile, id3Tag, m4aFile, mp3Frames, oggPage, opusHead, vorbisHead, wavFile, webmFile } from '../../../test/harness/audio-files.ts'
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
  const fast = Buffer.concat([flacFile(1_000_000, 16_000), ...Array.from({ length: 10 }, (_value, index) => flacFrame(15, index))])
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
  for (const head of [[0x03, 0x00, 0x00, 0x7f, 0x7f, 0x7f, 0x7f], [0x03, 0x00, 0x00, 0x80, 0x80, 0x90, 0x80], [0xff, 0xff, 0x00, 0x00, 0x00, 0x70, 0x00]]) {
    const hidden = Buffer.concat([Buffer.from('ID3'), Buffer.from(head), sound])
    assert.ok(audioSecondsMax(hidden) >= honest, `${head}: ${audioSecondsMax(hidden)} of ${honest}`)
  }
})

test('aac: each frame counts at its own rate, whatever the first one says', () => {
  const frames = adtsFrames(100)
  const size = frames.length / 100
  // The first keeps 24 kHz, all others say 8 kHz.
  for (let at = size; at < frames.length; at += size) frames[at + 2] = ((frames[at + 2] ?? 0) & 0xc3) | (11 << 2)
  assert.ok(Math.abs(audioSecondsMax(frames) - 99 * (1_024 / 8_000) - 1_024 / 24_000) < 1e-9, String(audioSecondsMax(frames)))
})

test('ogg: each Opus packet tells its own length, whatever position its page claims; other codecs by their bytes', () => {
  const packet = Buffer.from([0x18, 1, 2, 3])
  const pages = Array.from({ length: 50 }, () => oggPage(1, 960n, packet))
  const opus = Buffer.concat([oggPage(1, 0n, opusHead(0)), oggPage(1, 0n, Buffer.from('OpusTags')), ...pages])
  // 60 ms each, and 20 ms told.
  assert.deepEqual([audioSeconds(opus), audioSecondsMax(opus)], [0.02, 3])
  const hidden = Buffer.concat([opus, Buffer.from('between'), ...pages])
  assert.equal(audioSecondsMax(hidden), 6)
  const vorbis = Buffer.concat([oggPage(7, 0n, vorbisHead(44_100)), oggPage(7, 66_150n, Buffer.alloc(10))])
  assert.equal(audioSecondsMax(vorbis), vorbis.length / 500)
})

test('containers that tell by tables alone, and what is no container, by their bytes at the lowest rate', () => {
  const m4a = Buffer.concat([m4aFile(44_100, 44_100), Buffer.alloc(100_000)])
  assert.deepEqual([audioSeconds(m4a), audioSecondsMax(m4a)], [1, m4a.length / 1_000])
  const webm = webmFile(1_000, 1_000)
  assert.equal(audioSecondsMax(webm), webm.length / 750)
  assert.equal(audioSecondsMax(Buffer.alloc(5_000)), 10)
})

test('any bytes: a number of at least 0, in linear time', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), fc.constantFrom('', 'fLaC', 'OggS', 'RIFF0000WAVE'), (bytes, mark) => {
    const seconds = audioSecondsMax(Buffer.concat([Buffer.from(mark, 'latin1'), bytes]))
    assert.ok(Number.isFinite(seconds) && seconds >= 0, `${seconds}`)
  }))
  const worst = [Buffer.concat([flacFile(16_000, 1), Buffer.alloc(25_000_000, Buffer.from([0xff, 0xf8, 0xc0]))]), Buffer.concat([oggPage(1, 0n, opusHead(0)), Buffer.alloc(25_000_000, Buffer.concat([Buffer.from('OggS'), Buffer.alloc(23)]))]), Buffer.alloc(10_000_000, id3Tag(0))]
  for (const bytes of worst) {
    const ms = Math.min(...Array.from({ length: 3 }, () => cpuMs(() => audioSecondsMax(bytes))))
    assert.ok(ms <= 100, `${ms} ms`)
  }
})
