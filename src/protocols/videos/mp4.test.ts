import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUNDLED } from '../../catalog/bundled.ts'
import { isMp4Size, sandboxMp4 } from './sandbox.ts'

interface Box {
  readonly type: string
  readonly body: Buffer
  /** The position of the box's body in the file. */
  readonly at: number
}

const CONTAINERS: ReadonlySet<string> = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl', 'dinf'])

/** Every box of the file by its path; throws unless the lengths add up. */
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

// FFmpeg decodes each as H.264, constrained baseline, with one picture of one colour, of the given size and length.
for (const size of ['1280x720', '720x1280', '1920x1080', '1080x1920'] as const) {
  test(`${size}: its boxes add up, its sample lies where its tables say, and its size and times are those asked for`, () => {
    const file = sandboxMp4(size, 8, Buffer.from('mark'))
    assert.ok(file.length < 16_384)
    const boxes = boxesOf(file)
    assert.deepEqual(
      [...boxes.keys()].filter((path) => !path.includes('/')),
      ['ftyp', 'moov', 'mdat', 'free'],
    )
    const header = box(boxes, 'moov/trak/tkhd').body
    assert.equal(`${header.readUInt32BE(76) / 65_536}x${header.readUInt32BE(80) / 65_536}`, size)
    const table = (name: string): Buffer => box(boxes, `moov/trak/mdia/minf/stbl/${name}`).body
    assert.deepEqual(
      [
        box(boxes, 'moov/mvhd').body.readUInt32BE(12),
        box(boxes, 'moov/mvhd').body.readUInt32BE(16),
        header.readUInt32BE(20),
        box(boxes, 'moov/trak/mdia/mdhd').body.readUInt32BE(16),
        table('stts').readUInt32BE(8),
        table('stts').readUInt32BE(12),
      ],
      [1_000, 8_000, 8_000, 8_000, 1, 8_000],
    )
    const data = box(boxes, 'mdat')
    assert.equal(table('stco').readUInt32BE(8), data.at)
    assert.deepEqual([table('stsz').readUInt32BE(8), table('stsz').readUInt32BE(12)], [1, data.body.length])
    assert.equal(data.body.readUInt32BE(0), data.body.length - 4, 'one unit in the sample')
  })
}

test('the catalogue offers the sizes that there are files for', () => {
  const { models } = BUNDLED
  const video = models.find(({ id }) => id === 'sandbox/video')
  assert.deepEqual(Object(video).supported_sizes?.filter(isMp4Size), Object(video).supported_sizes)
  assert.ok(!isMp4Size('64x48') && !isMp4Size('toString'))
})
