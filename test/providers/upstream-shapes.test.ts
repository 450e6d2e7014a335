import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CollectedBody } from '../../src/protocols/wire/collected-body.ts'
import { ERROR_BYTES_MAX, parseErrorBody } from '../../src/protocols/wire/error-body.ts'
import { GeminiReader } from '../../src/protocols/gemini/provider/reader.ts'
import { parseLifted } from '../../src/protocols/wire/lifted-json.ts'
import { NdjsonDecoder, SseDecoder } from '../../src/protocols/wire/stream-decoders.ts'
import { LISTING_LIMITS, parseJson, UPSTREAM_LIMITS } from '../../src/protocols/wire/raw-json.ts'
import { cpuMs, noStall, STALL_MS_MAX } from '../harness/patience.ts'

const MEGABYTE = 1_048_576

function repeated(piece: string, bytes: number): Buffer {
  return Buffer.alloc(Math.floor(bytes / piece.length) * piece.length, piece)
}

function list(piece: string, bytes: number): Buffer {
  return Buffer.concat([Buffer.from('['), repeated(`${piece},`, bytes), Buffer.from(`${piece}]`)])
}

function keys(count: number): Buffer {
  return Buffer.from(`{${Array.from({ length: count }, (_value, index) => `"k${index.toString(36)}":1`).join(',')}}`)
}

function words(count: number): Buffer {
  return Buffer.from(`[${Array.from({ length: count }, (_value, index) => `"${index.toString(36)}"`).join(',')}]`)
}

/** Whole answers that took up to 147 s and 2.6 GB. */
const BOMBS: readonly (readonly [string, Buffer])[] = [
  ['empty lists', list('[]', 31 * MEGABYTE)],
  ['empty objects', list('{}', 31 * MEGABYTE)],
  ['lists of one number', list('[1]', 31 * MEGABYTE)],
  ['lists in lists', repeated('[', 31 * MEGABYTE)],
  ['a level more than any answer has', Buffer.from(`${'['.repeat(129)}${' '.repeat(200)}${']'.repeat(129)}`)],
  ['a million keys', keys(1_000_000)],
  ['a million short words', words(1_000_000)],
  ['small numbers', list('1', 31 * MEGABYTE)],
]

for (const [what, bytes] of BOMBS) {
  test(`an answer of nothing but ${what} is no answer, and looked at in at most ${STALL_MS_MAX} ms`, () => {
    // A list of numbers is a vector, which is not parsed here.
    const listing = (body: Buffer): unknown => parseJson(body, LISTING_LIMITS)
    const readers = what === 'small numbers' ? [parseJson, listing] : [parseJson, listing, parseLifted]
    for (const read of readers) {
      noStall(read.name, () => assert.ok(read(bytes) === undefined))
    }
  })
}

/** Valid answers of the largest size. */
const ANSWERS: readonly (readonly [string, Buffer])[] = [
  ['a picture', Buffer.from(JSON.stringify({ data: [{ b64_json: 'A'.repeat(31 * MEGABYTE) }] }))],
  ['a text of surrogates', Buffer.from(`["${'\\ud83d\\ude00'.repeat(MEGABYTE)}"]`)],
  [
    'the words of six hours of speech',
    list(
      '{"word":"hello","start":1.25,"end":1.5,"confidence":0.998,"speaker":0,"punctuated_word":"Hello,"}',
      5 * MEGABYTE,
    ),
  ],
]

for (const [what, bytes] of ANSWERS) {
  test(`an answer with ${what} is read in at most ${STALL_MS_MAX} ms`, () => {
    noStall('parseJson', () => assert.ok(parseJson(bytes, LISTING_LIMITS) !== undefined))
  })
}

for (const [name, limits] of Object.entries({ UPSTREAM_LIMITS, LISTING_LIMITS })) {
  // A model writes at most some 128,000 tokens, and none of them is twenty quotes.
  test(`an answer of nothing but escapes is read up to the bound of ${name} and refused above it, both at once`, () => {
    const escapes = limits.escapes ?? assert.fail('an answer has a bound')
    assert.ok(escapes > 128_000 * 20)
    for (const { share, passes } of [
      { share: 0.99, passes: true },
      { share: 1.01, passes: false },
      { share: 5, passes: false },
    ]) {
      // A backslash is written as two.
      for (const { character, written } of [
        { character: '"', written: 1 },
        { character: '\\', written: 2 },
        { character: '\n', written: 1 },
      ]) {
        const content = character.repeat((escapes * share) / written)
        const body = Buffer.from(JSON.stringify({ choices: [{ message: { content } }] }))
        const answer = noStall(`${share} of the bound`, () => parseJson(body, limits))
        assert.equal(answer !== undefined, passes, `${share} of the bound`)
      }
    }
  })
}

test('an error body that was cut tells the message that it begins', () => {
  const prompt = 'слово "в" \\ '.repeat(10_000)
  const body = Buffer.from(JSON.stringify({ error: { type: 'x', message: `maximum context length: ${prompt}` } }))
  assert.ok(body.length > ERROR_BYTES_MAX)
  for (let cut = 0; cut < 40; cut += 1) {
    const said = parseErrorBody(
      Buffer.concat([body.subarray(0, 12), Buffer.alloc(cut, ' '), body.subarray(12, ERROR_BYTES_MAX + 100)]),
    )
    // The line above makes this shape.
    const { message } = (said as { readonly error: { readonly message: string } }).error
    assert.ok(message.startsWith('maximum context length: слово "в" \\ ') && message.length > 30_000, String(cut))
  }
  assert.equal(parseErrorBody(repeated('x', 2 * ERROR_BYTES_MAX)), undefined)
  assert.deepEqual(parseErrorBody(Buffer.from('{"error":{"message":"short"}}')), { error: { message: 'short' } })
  noStall('parseErrorBody', () => parseErrorBody(repeated('"message" ', 2 * ERROR_BYTES_MAX)))
})

function sse(): { readonly decoder: SseDecoder; readonly events: string[] } {
  const events: string[] = []
  return {
    decoder: new SseDecoder({ event: (data) => events.push(data.toString()), errorLine: () => undefined }),
    events,
  }
}

test('an event is bounded as a whole: by the bytes of its lines, and by their number', () => {
  for (const line of [`data: ${'x'.repeat(900_000)}\n`, `data: ${'x'.repeat(1_000)}\n`, 'data\n']) {
    const { decoder, events } = sse()
    let pushed = 0
    while (decoder.push(Buffer.from(line)) && pushed < 4 * MEGABYTE) pushed += Math.max(64, line.length)
    assert.ok(pushed < 1.2 * MEGABYTE, `${line.length}: ${pushed}`)
    assert.deepEqual(events, [])
  }
  const { decoder, events } = sse()
  assert.ok(decoder.push(Buffer.from(`data: a\ndata: b\n\n${`data: ${'x'.repeat(600_000)}\n\n`.repeat(3)}`)))
  assert.deepEqual(
    events.map(({ length }) => length),
    [3, 600_000, 600_000, 600_000],
  )
  assert.ok(!sse().decoder.push(Buffer.from(`${'data\n'.repeat(100_000)}\n`)))
})

test('a long line in reads of a few bytes, and a read of nothing but line ends, take no more than their length', () => {
  const line = Buffer.from(`data: ${'x'.repeat(1_000_000)}\n\n`)
  const took = cpuMs(() => {
    const { decoder, events } = sse()
    const lines: string[] = []
    const ndjson = new NdjsonDecoder((data) => lines.push(data.toString()))
    for (let at = 0; at < line.length; at += 16) {
      assert.ok(decoder.push(line.subarray(at, at + 16)))
      assert.ok(ndjson.push(line.subarray(at, at + 16)))
    }
    assert.deepEqual(
      [...events, ...lines].map(({ length }) => length),
      [1_000_000, 1_000_006],
    )
  })
  // Joining 1 MB at each of its 62,500 reads would copy 60 GB.
  assert.ok(took < 1_500, `${took.toFixed(0)} ms`)
  for (const bytes of [
    repeated('\r', 65_536),
    Buffer.concat([repeated('\r', 65_536), Buffer.from('\n')]),
    repeated('\n', 65_536),
  ]) {
    noStall('line ends', () => assert.ok(sse().decoder.push(bytes)))
  }
})

test('F48: an answer of more parts than a call has room for arguments is read', () => {
  const parts = Array.from({ length: 300_000 }, () => ({ text: 'x' }))
  const reader = new GeminiReader({
    generationId: 'gen-1',
    candidates: 1,
    hidesReasoning: false,
    billsSearch: null,
    signer: null,
  })
  assert.ok('length' in reader.whole({ candidates: [{ content: { parts }, finishReason: 'STOP' }] }))
})

test('F30: a body in chunks of one byte costs little more than its bytes', () => {
  const body = new CollectedBody(null)
  const piece = Buffer.from('x')
  const took = cpuMs(() => {
    for (let count = 0; count < MEGABYTE; count += 1) body.add(piece)
    assert.equal(body.take().length, MEGABYTE)
  })
  assert.ok(took < 500, `${took.toFixed(0)} ms`)
})

test('F22: whether JSON is complete may be asked at each of its bytes, and of the blanks behind it', () => {
  const body = new CollectedBody(null)
  const json = JSON.stringify(Array.from({ length: 100_000 }, () => ({ '"[{\\"': '}]' })))
  const text = Buffer.from(`\n${json}${' '.repeat(json.length)}`)
  const took = cpuMs(() => {
    for (let at = 0; at < text.length; at += 1) {
      body.add(text.subarray(at, at + 1))
      assert.equal(body.isWholeJson(), at >= json.length)
    }
  })
  assert.ok(took < 4_000, `${took.toFixed(0)} ms`)
})
