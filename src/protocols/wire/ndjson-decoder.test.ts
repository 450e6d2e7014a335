import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NdjsonDecoder } from './stream-decoders.ts'
import { recordedCases } from '../../../test/harness/recording.ts'

function decode(pieces: readonly Buffer[]): string[] {
  const lines: string[] = []
  const decoder = new NdjsonDecoder((data) => void lines.push(data.toString('utf8')))
  for (const piece of pieces) assert.ok(decoder.push(Buffer.from(piece)))
  decoder.end()
  return lines
}

test('LF, CRLF, empty lines and a last line without its end, at every cut', () => {
  const expected = ['{"a":"é\\r"}', '{"b":2}', '[]']
  for (const end of ['\n', '\r\n']) {
    const text = ['{"a":"é\\r"}', '', '{"b":2}', '[]'].join(end)
    for (const body of [Buffer.from(text), Buffer.from(`${text}${end}`), Buffer.from(`${end}${text}${end}${end}`)]) {
      assert.deepEqual(decode([body]), expected)
      for (let cut = 1; cut < body.length; cut += 1) {
        assert.deepEqual(
          decode([body.subarray(0, cut), body.subarray(cut)]),
          expected,
          `${JSON.stringify(end)} cut at ${cut}`,
        )
        assert.deepEqual(
          decode([body.subarray(0, cut), Buffer.alloc(0), body.subarray(cut)]),
          expected,
          `${JSON.stringify(end)} an empty read at ${cut}`,
        )
      }
      assert.deepEqual(decode([...body].map((byte) => Buffer.from([byte]))), expected, 'byte by byte')
    }
  }
})

test('every recorded stream of lines gives the same lines at every cut', async () => {
  const streams = recordedCases(({ framing }) => framing === 'ndjson')
  assert.ok(streams.length >= 3, `${streams.length} streams`)
  for (const recorded of streams) {
    const body = recorded.body
    const whole = decode([body])
    assert.deepEqual(
      whole,
      body
        .toString('utf8')
        .split('\n')
        .filter((line) => line !== ''),
    )
    for (let cut = 1; cut < body.length; cut += 1)
      assert.deepEqual(decode([body.subarray(0, cut), body.subarray(cut)]), whole, `${recorded.name} cut at ${cut}`)
  }
})

test('a line of 1 MiB is read, a longer one ends the stream, an endless one is not kept', () => {
  const longest = Buffer.alloc(1_048_576, 'a')
  assert.deepEqual(
    decode([longest, Buffer.from('\n')]).map(({ length }) => length),
    [1_048_576],
  )
  const decoder = new NdjsonDecoder(() => assert.fail('no line'))
  const chunk = Buffer.alloc(65_536, 'a')
  let pushed = 0
  while (decoder.push(chunk)) pushed += chunk.length
  assert.ok(pushed <= 1_048_576 + chunk.length)
})
