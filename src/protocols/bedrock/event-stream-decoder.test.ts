import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EventStreamDecoder } from './event-stream-decoder.ts'
import { converseEvent, eventStreamMessage, framed } from '../../../test/harness/aws.ts'
import { recordedCases } from '../../../test/harness/recording.ts'

interface Decoded {
  readonly messages: readonly string[]
  readonly isWhole: boolean
}

function decode(pieces: readonly Buffer[]): Decoded {
  const messages: string[] = []
  const decoder = new EventStreamDecoder({
    message: (data) => void messages.push(data.toString('utf8')),
    error: (data) => void messages.push(`error:${data.toString('utf8')}`),
  })
  let isWhole = true
  for (const piece of pieces) isWhole = decoder.push(Buffer.from(piece)) && isWhole
  decoder.end()
  return { messages, isWhole }
}

const streams = recordedCases(({ framing }) => framing === 'eventstream')

describe('every recorded event stream', () => {
  assert.ok(streams.length >= 3, `${streams.length} streams`)
  for (const recorded of streams) {
    const body = recorded.body
    const whole = decode([body])

    test(`${recorded.name} gives the same messages at every cut`, () => {
      assert.ok(whole.isWhole && whole.messages.length > 5)
      for (const message of whole.messages) assert.equal(Object.keys(JSON.parse(message)).length, 1)
      for (let cut = 1; cut < body.length; cut += 1)
        assert.deepEqual(decode([body.subarray(0, cut), body.subarray(cut)]), whole, `cut at ${cut}`)
      assert.deepEqual(decode([...body].map((byte) => Buffer.from([byte]))), whole, 'byte by byte')
    })

    test(`${recorded.name} is given up at a flipped bit of any byte, after the messages before it`, () => {
      for (let bit = 0; bit < body.length * 8; bit += 9) {
        const flipped = Buffer.from(body)
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        const { messages, isWhole } = decode([flipped])
        assert.equal(isWhole, false, `bit ${bit}`)
        assert.deepEqual(messages, whole.messages.slice(0, messages.length), `bit ${bit}`)
        assert.ok(messages.length < whole.messages.length, `bit ${bit}`)
      }
    })
  }
})

test('a stream that was given up stays so', () => {
  const decoder = new EventStreamDecoder({
    message: () => assert.fail('no message'),
    error: () => assert.fail('no error'),
  })
  assert.equal(decoder.push(Buffer.alloc(16)), false)
  assert.equal(decoder.push(converseEvent('messageStart', {})), false)
})

test('a message of more than 16 MiB is refused by its announced length', () => {
  const honest = framed(Buffer.alloc(0), Buffer.alloc(16 * 1_048_576 - 16, ' '))
  assert.equal(decode([honest.subarray(0, 64), honest.subarray(64, 10_000)]).isWhole, true)
  assert.equal(decode([framed(Buffer.alloc(0), Buffer.alloc(16 * 1_048_576 - 15)).subarray(0, 12)]).isWhole, false)
})

test('headers of every type are passed over, cut ones are refused', () => {
  const other = Buffer.from([
    1,
    97,
    0,
    1,
    98,
    1,
    1,
    99,
    2,
    9,
    1,
    100,
    3,
    9,
    9,
    1,
    101,
    4,
    9,
    9,
    9,
    9,
    1,
    102,
    5,
    9,
    9,
    9,
    9,
    9,
    9,
    9,
    9,
    1,
    103,
    6,
    0,
    2,
    9,
    9,
    1,
    104,
    8,
    9,
    9,
    9,
    9,
    9,
    9,
    9,
    9,
    1,
    105,
    9,
    ...Array.from({ length: 16 }, () => 9),
  ])
  const type = Buffer.from('\u000b:event-type\u0007\u0000\u0004ping', 'latin1')
  assert.deepEqual(decode([framed(Buffer.concat([other, type]), Buffer.from('{"x":1}'))]), {
    messages: ['{"ping":{"x":1}}'],
    isWhole: true,
  })
  for (const bytes of [[5], [1, 97], [1, 97, 10], [1, 97, 4, 0], [1, 97, 7], [1, 97, 7, 0], [1, 97, 7, 0, 9, 97]]) {
    assert.deepEqual(
      decode([framed(Buffer.from(bytes), Buffer.from('{}'))]),
      { messages: [], isWhole: false },
      bytes.join(' '),
    )
  }
})

test('exceptions come by their type, errors without a payload by their code, empty payloads as an empty object', () => {
  const exception = eventStreamMessage(
    { ':message-type': 'exception', ':exception-type': 'throttlingException' },
    '{"message":"slow"}',
  )
  const error = eventStreamMessage(
    { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'broken' },
    '',
  )
  const empty = eventStreamMessage({ ':message-type': 'event', ':event-type': 'pi"ng' }, '')
  assert.deepEqual(decode([Buffer.concat([exception, error, empty])]).messages, [
    '{"throttlingException":{"message":"slow"}}',
    'error:{"type":"InternalFailure","message":"broken"}',
    '{"pi\\"ng":{}}',
  ])
})
