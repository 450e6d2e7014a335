import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SseDecoder } from './stream-decoders.ts'
import { recordedCases } from '../../../test/harness/recording.ts'

function decode(pieces: readonly Buffer[]): string[] {
  const events: string[] = []
  const decoder = new SseDecoder({
    event: (data) => void events.push(data.toString('utf8')),
    errorLine: (value) => void events.push(`error:${value.toString('utf8')}`),
  })
  for (const piece of pieces) assert.ok(decoder.push(Buffer.from(piece)))
  decoder.end()
  return events
}

/**
 * Slices of two neighbouring events each. A cut affects no event further away, so all cuts of the slices cover all cuts
 * of the body.
 */
function neighbours(body: Buffer): readonly Buffer[] {
  const text = body.toString('latin1')
  const ends = [...text.matchAll(/\r\n\r\n|\n\n|\r\r/g)].map(({ index, 0: blank }) => index + blank.length)
  const bounds = [0, ...ends, body.length]
  return bounds.slice(0, -1).map((start, position) => body.subarray(start, bounds[position + 2] ?? body.length))
}

test('every recorded stream gives the same events at every cut', async () => {
  const streams = recordedCases(({ framing }) => framing === 'sse')
  assert.ok(streams.length > 60, `${streams.length} streams`)
  for (const recorded of streams) {
    const body = recorded.body
    const whole = decode([body])
    assert.ok(whole.length > 0, recorded.name)
    assert.deepEqual(decode([...body].map((byte) => Buffer.from([byte]))), whole, `${recorded.name} byte by byte`)
    for (const slice of neighbours(body)) {
      if (slice.length > 8_192) continue
      const expected = decode([slice])
      for (let cut = 1; cut < slice.length; cut += 1)
        assert.deepEqual(
          decode([slice.subarray(0, cut), slice.subarray(cut)]),
          expected,
          `${recorded.name} cut at ${cut}`,
        )
    }
  }
})

test('line ends, comments, a BOM, many data lines and a missing blank line', () => {
  const expected = ['{"a":1}', 'one\ntwo']
  for (const end of ['\n', '\r\n', '\r']) {
    const text = [': comment', 'id: 7', 'event: x', 'data: {"a":1}', '', 'data:one', 'data: two', 'retry: 5'].join(end)
    for (const body of [Buffer.from(text), Buffer.from(`\ufeff${text}`), Buffer.from(`${text}${end}${end}`)]) {
      assert.deepEqual(decode([body]), expected)
      for (let cut = 1; cut < body.length; cut += 1)
        assert.deepEqual(
          decode([body.subarray(0, cut), body.subarray(cut)]),
          expected,
          `${JSON.stringify(end)} cut at ${cut}`,
        )
    }
  }
})

test('a line of more than 1 MiB ends the stream, an endless one is not kept', () => {
  const decoder = new SseDecoder({
    event: () => assert.fail('no event'),
    errorLine: () => assert.fail('no error line'),
  })
  const chunk = Buffer.alloc(65_536, 'a')
  let pushed = 0
  while (decoder.push(chunk)) pushed += chunk.length
  assert.ok(pushed <= 1_048_576 + chunk.length)
})

test('a first byte that could begin a BOM and does not hides no line end after it', () => {
  const body = Buffer.from([0xef, 13, ...Buffer.from('data: a\n\n')])
  for (let cut = 1; cut < 4; cut += 1)
    assert.deepEqual(decode([body.subarray(0, 1), body.subarray(1, cut), body.subarray(cut)]), ['a'], `cut at ${cut}`)
  // Two bytes are too few for a BOM, but still count at the end of the body.
  assert.deepEqual(decode([Buffer.from([0xef, 13])]), [])
})
