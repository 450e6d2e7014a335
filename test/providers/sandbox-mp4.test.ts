import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { plainMp4 } from '../../src/providers/sandbox-mp4.ts'

interface Box {
  readonly type: string
  readonly body: Buffer
  /** Of its body, in the file. */
  readonly at: number
}

const CONTAINERS: ReadonlySet<string> = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl', 'dinf'])

/** Every box of the file by its path; the lengths must add up. */
function boxesOf(bytes: Buffer, path = '', offset = 0): Map<string, Box> {
  const boxes = new Map<string, Box>()
  let at = 0
  while (at < bytes.length) {
    const length = bytes.readUInt32BE(at)
    const type = bytes.toString('latin1', at + 4, at + 8)
    assert.ok(length >= 8 && at + length <= bytes.length, `${path}${type} has its length`)
    const body = bytes.subarray(at + 8, at + length)
    boxes.set(path + type, { type, body, at: offset + at + 8 })
    if (CONTAINERS.has(type))
      for (const [name, inner] of boxesOf(body, `${path}${type}/`, offset + at + 8)) boxes.set(name, inner)
    at += length
  }
  return boxes
}

function box(boxes: ReadonlyMap<string, Box>, path: string): Box {
  const found = boxes.get(path)
  assert.ok(found, path)
  return found
}

test('its boxes add up, its samples lie where its tables say, and its times are those asked for', () => {
  const file = plainMp4({ width: 1280, height: 720, seconds: 8, colour: [90, 180, 60] })
  const boxes = boxesOf(file)
  assert.deepEqual(
    [...boxes.keys()].filter((path) => !path.includes('/')),
    ['ftyp', 'moov', 'mdat'],
  )
  assert.equal(box(boxes, 'moov/mvhd').body.readUInt32BE(12), 1_000)
  assert.equal(box(boxes, 'moov/mvhd').body.readUInt32BE(16), 8_000)
  const header = box(boxes, 'moov/trak/tkhd').body
  assert.deepEqual([header.readUInt32BE(76) / 65_536, header.readUInt32BE(80) / 65_536], [1280, 720])
  const sizes = box(boxes, 'moov/trak/mdia/minf/stbl/stsz').body
  const count = sizes.readUInt32BE(8)
  assert.equal(count, 32)
  const data = box(boxes, 'mdat')
  assert.equal(box(boxes, 'moov/trak/mdia/minf/stbl/stco').body.readUInt32BE(8), data.at)
  let at = 0
  for (let index = 0; index < count; index += 1) {
    const length = sizes.readUInt32BE(12 + 4 * index)
    assert.equal(data.body.readUInt32BE(at), length - 4, 'one unit a sample')
    assert.equal(data.body.readUInt8(at + 4), index === 0 ? 0x65 : 0x41)
    at += length
  }
  assert.equal(at, data.body.length)
})

test('it is small, and the same for the same wish alone', () => {
  const wish = { width: 1280, height: 720, seconds: 4, colour: [90, 180, 60] } as const
  const file = plainMp4(wish)
  assert.ok(file.length < 8_192)
  assert.ok(file.equals(plainMp4(wish)))
  assert.ok(!file.equals(plainMp4({ ...wish, colour: [90, 180, 80] })))
})

// These very bytes were decoded with FFmpeg (H.264, constrained baseline): 16, 32 and 8 pictures of one colour, of the size and length asked for.
for (const [width, height, seconds, colour, digest] of [
  [1280, 720, 4, [90, 180, 60], '2f9fbe1d17436d2404dc597d4386698859e36cac8b3b0dff1f7306aa226fbc86'],
  [720, 1280, 8, [200, 128, 129], '0e97c4b1c50ec4a03fa9548cd38cd9aa41fc616414574ca35000578af8afe766'],
  [1920, 1080, 2, [16, 240, 16], '9db7a21e307d09e665bc1306e0238078e7a3bc245b6717a703e23b9b3b69f9d9'],
] as const) {
  test(`${width}x${height} is what was decoded`, () => {
    assert.equal(createHash('sha256').update(plainMp4({ width, height, seconds, colour })).digest('hex'), digest)
  })
}
