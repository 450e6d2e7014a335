import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventsOf } from '../../test/harness/protocol-read.ts'
import { endpoint } from '../../test/harness/plan-fixture.ts'
import { cutAtRandom, randomOf } from '../../test/harness/recording.ts'
import type { AnswerEvent } from '../kinds/answer/event.ts'
import { foldAnswer } from '../kinds/answer/fold.ts'
import { ownedChunk } from './gemini/client/writer.ts'
import { ownedStart } from './anthropic/client/writer.ts'
import { NativeReader as MessagesReader } from './anthropic/provider/native.ts'
import { NativeReader as GeminiReader } from './gemini/provider/native.ts'
import { sseMessages, type EventReader } from './upstream/events.ts'

const OURS = { id: 'gen-ours', model: 'maker/model' }
const CALL = { endpoint: endpoint('upstream'), apiKey: null, generationId: OURS.id, streaming: true }
const TEXTS = ['Toll', ' gate\n', ' «Ж»', ' 😀', ' "q" \\', '', ' 1', ' {}', ' \u2028', ' end']

/** JSON as SDKs of other languages write it: characters beyond ASCII are escaped. */
function ascii(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

type Spelling = (value: unknown) => string

function messagesBody(spelled: Spelling): string {
  const event = (type: string, fields: object): string => `event: ${type}\ndata: ${spelled({ type, ...fields })}\n\n`
  const deltas = (index: number, type: string, field: string): string =>
    TEXTS.map((text) => event('content_block_delta', { index, delta: { type, [field]: text } })).join('')
  return [
    event('message_start', { message: { id: 'msg_up', model: 'm', content: [], usage: { input_tokens: 9 } } }),
    event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '' } }),
    deltas(0, 'thinking_delta', 'thinking'),
    event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } }),
    event('content_block_stop', { index: 0 }),
    event('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
    deltas(1, 'text_delta', 'text'),
    event('ping', {}),
    deltas(1, 'text_delta', 'text'),
    event('content_block_stop', { index: 1 }),
    event('content_block_start', { index: 2, content_block: { type: 'tool_use', id: 't', name: 'pay', input: {} } }),
    deltas(2, 'input_json_delta', 'partial_json'),
    event('content_block_stop', { index: 2 }),
    event('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 30 } }),
    event('message_stop', {}),
  ].join('')
}

function geminiBody(spelled: Spelling): string {
  let count = 8
  const chunk = (part: object, index = 0, last: object = {}): string => {
    count += 1
    return `data: ${spelled({
      candidates: [{ content: { parts: [part], role: 'model' }, index, ...last }],
      usageMetadata: { promptTokenCount: 12, candidatesTokenCount: count, totalTokenCount: 12 + count },
      modelVersion: 'gemini-up',
      responseId: 'up-id',
    })}\r\n\r\n`
  }
  return [
    ...TEXTS.map((text) => chunk({ text, thought: true })),
    ...TEXTS.map((text) => chunk({ text })),
    chunk({ text: 'signed', thoughtSignature: 'c2ln' }),
    ...TEXTS.map((text) => chunk({ text })),
    chunk({ functionCall: { name: 'pay', args: { sum: 1 } } }),
    chunk({ text: 'bye' }, 0, { finishReason: 'STOP' }),
  ].join('')
}

const FORMS = {
  messages: {
    body: messagesBody,
    reader: (): EventReader =>
      new MessagesReader({ ...CALL, body: Buffer.alloc(0), headers: {}, startOf: (event) => ownedStart(event, OURS) }),
  },
  gemini: {
    body: geminiBody,
    reader: (): EventReader =>
      new GeminiReader({
        ...CALL,
        body: {},
        serviceTier: null,
        candidates: 1,
        searches: false,
        owned: (chunk) => ownedChunk(chunk, OURS),
      }),
  },
} as const

/** What the client gets, with its JSON parsed, and what is charged. */
function seen(events: readonly AnswerEvent[]): unknown {
  const passed = events.flatMap((event): readonly unknown[] => {
    if (event.type !== 'wire') return []
    return Buffer.isBuffer(event.sent) ? event.sent.toString('utf8').split('\n\n') : [event.sent]
  })
  return {
    passed: passed.filter((one) => one !== '').map((one) => (typeof one === 'string' ? parsed(one) : one)),
    answer: foldAnswer(events.filter(({ type }) => type !== 'wire')),
  }
}

/** A chunk of Gemini's is JSON; an event of Messages has its type before the JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf('{')))
  } catch {
    return text
  }
}

/** The body with one to three bytes changed, half of them to bytes that occur elsewhere in it. */
function damaged(body: Buffer, random: () => number): Buffer {
  const below = (count: number): number => Math.floor(random() * count)
  const copy = Buffer.from(body)
  for (let changes = below(3) + 1; changes > 0; changes -= 1)
    copy[below(copy.length)] = below(2) === 0 ? below(256) : (copy[below(copy.length)] ?? 0)
  return copy
}

for (const [name, { body, reader }] of Object.entries(FORMS))
  for (const [spelling, spelled] of Object.entries({ plain: JSON.stringify, ascii })) {
    const bytes = Buffer.from(body(spelled))
    const each = [...bytes].map((byte) => Buffer.from([byte]))

    test(`${name}, ${spelling}: events known by their bytes are read as if parsed, at every cut`, () => {
      const one = eventsOf(reader(), sseMessages, each)
      assert.equal(one.failure, null)
      const whole = eventsOf(reader(), sseMessages, [bytes])
      assert.deepEqual(seen(whole.events), seen(one.events))
      // Whole reads do take the fast path.
      assert.ok(whole.events.length < one.events.length / 1.5, `${whole.events.length} of ${one.events.length}`)
      for (let seed = 1; seed <= 30; seed += 1) {
        const cut = eventsOf(reader(), sseMessages, cutAtRandom(bytes, randomOf(seed)))
        assert.deepEqual(seen(cut.events), seen(one.events), `seed ${seed}`)
      }
    })

    test(`${name}, ${spelling}: damaged events are not taken for known ones`, () => {
      for (let seed = 1; seed <= 300; seed += 1) {
        const broken = damaged(bytes, randomOf(seed))
        const one = eventsOf(
          reader(),
          sseMessages,
          [...broken].map((byte) => Buffer.from([byte])),
        )
        const whole = eventsOf(reader(), sseMessages, [broken])
        assert.equal(whole.failure?.reason, one.failure?.reason, `seed ${seed}`)
        assert.deepEqual(seen(whole.events), seen(one.events), `seed ${seed}`)
      }
    })
  }

test('half an escape in each of two texts is not taken for a whole one', () => {
  const { body, reader } = FORMS.messages
  const broken = body(JSON.stringify)
    .replace(' 1"', String.raw`\u00"`)
    .replace(' {}"', '41"')
  const { failure } = eventsOf(reader(), sseMessages, [Buffer.from(broken)])
  assert.equal(failure?.reason, 'garbage')
})

test('a leading zero in the usage of a chunk is no number', () => {
  const { body, reader } = FORMS.gemini
  const broken = body(JSON.stringify).replace('"candidatesTokenCount":12', '"candidatesTokenCount":012')
  const { failure } = eventsOf(reader(), sseMessages, [Buffer.from(broken)])
  assert.equal(failure?.reason, 'garbage')
})
