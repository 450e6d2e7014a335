import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { upstreamFailure } from '../../wire/upstream-error.ts'
import type { ChatAnswer } from '../../../kinds/chat/answer.ts'
import { ollamaProtocol, ollamaUsage } from './ollama.ts'
import {
  foldAtEveryCut,
  callOf,
  readPieces,
  readWhole,
  recordingsOf,
  type ProtocolRead,
} from '../../../../test/harness/protocol-read.ts'
import { randomOf } from '../../../../test/harness/recording.ts'

const PROTOCOL = ollamaProtocol
const END = {
  message: { role: 'assistant', content: '' },
  done_reason: 'stop',
  done: true,
  prompt_eval_count: 5,
  eval_count: 2,
}

function readLines(lines: readonly unknown[], call = callOf()): ProtocolRead {
  return readPieces(PROTOCOL, [Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))], call)
}

function says(message: Record<string, unknown>): unknown {
  return { model: 'm', message: { role: 'assistant', content: '', ...message }, done: false }
}

function messageOf({ choices }: ChatAnswer): unknown {
  return choices[0]?.message
}

/** The plain answer that is equal to a stream. */
function wholeOf(body: Buffer): Record<string, unknown> {
  const lines: readonly Record<string, unknown>[] = body
    .toString('utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const content = lines.map((line) => Object(line['message']).content ?? line['response'] ?? '').join('')
  return { ...lines.at(-1), message: { role: 'assistant', content } }
}

const recordings = [...recordingsOf('ollama-chat'), ...recordingsOf('ollama-generate')]

describe('every recorded stream, of chat and of generate', () => {
  const streams = recordings.filter(({ streaming }) => streaming)
  assert.ok(streams.length >= 2, `${streams.length} streams`)
  for (const { name, expected: whole, body } of streams) {
    test(`${name} folds to one answer at every random cut, which is the whole one`, () => {
      const { answer, failure } = foldAtEveryCut(PROTOCOL, body)
      assert.equal(failure, null)
      const [expected] = whole.choices ?? []
      assert.equal(Object(messageOf(answer)).content, expected?.text)
      assert.deepEqual(
        [answer.choices[0]?.native, answer.choices[0]?.finish],
        [expected?.finish_reason_native, expected?.finish_reason],
      )
      assert.deepEqual(
        [answer.usage?.inputTokens, answer.usage?.outputTokens],
        [whole.usage?.prompt_tokens, whole.usage?.completion_tokens],
      )
      assert.deepEqual(answer, readWhole(PROTOCOL, wholeOf(body)))
    })
  }
})

test('generated text stands in response; a plain answer too', () => {
  assert.deepEqual(messageOf(readWhole(PROTOCOL, { response: 'Hi', thinking: 'Hm', done: true })), {
    role: 'assistant',
    content: 'Hi',
    refusal: null,
    reasoning: 'Hm',
  })
})

test('thinking is reasoning; calls come whole, with or without ids, over several lines', () => {
  const { answer, failure } = readLines([
    says({ thinking: 'H' }),
    says({ thinking: 'm' }),
    says({ content: 'Let me' }),
    says({ content: ' look' }),
    says({
      tool_calls: [
        { function: { name: 'f', arguments: { a: [1] } } },
        { id: 'own', function: { index: 1, name: 'g', arguments: {} } },
      ],
    }),
    says({ tool_calls: [{ function: { name: 'f', arguments: { a: [2] } } }] }),
    END,
  ])
  assert.equal(failure, null)
  assert.deepEqual([answer.choices[0]?.finish, answer.choices[0]?.native], ['tool_calls', 'stop'])
  assert.deepEqual(messageOf(answer), {
    role: 'assistant',
    content: 'Let me look',
    refusal: null,
    reasoning: 'Hm',
    tool_calls: [
      { id: 'call_abc_0_0', type: 'function', function: { name: 'f', arguments: '{"a":[1]}' } },
      { id: 'own', type: 'function', function: { name: 'g', arguments: '{}' } },
      { id: 'call_abc_0_2', type: 'function', function: { name: 'f', arguments: '{"a":[2]}' } },
    ],
  })
})

test('excluded reasoning is not shown, but counts as progress', () => {
  const hidden = callOf({ include_reasoning: false })
  assert.deepEqual(messageOf(readLines([says({ thinking: 'Hm' }), says({ content: 'Hi' }), END], hidden).answer), {
    role: 'assistant',
    content: 'Hi',
    refusal: null,
  })
  const reader = PROTOCOL.reader(hidden)
  assert.notDeepEqual(reader.message(Buffer.from(JSON.stringify(says({ thinking: 'Hm' })))), [])
  assert.deepEqual(reader.message(Buffer.from(JSON.stringify(says({})))), [], 'an empty line is none')
})

test('an answer that says nothing is the empty text; an older server names no reason', () => {
  assert.deepEqual(messageOf(readLines([END]).answer), { role: 'assistant', content: '', refusal: null })
  const { choices } = readLines([says({ content: 'Hi' }), { done: true }]).answer
  assert.deepEqual([choices[0]?.finish, choices[0]?.native], ['stop', null])
})

test('an error line ends the attempt, and the text before it is kept', () => {
  const { answer, failure } = readLines([
    says({ content: 'Hi' }),
    { error: 'an error was encountered while running the model: CUDA error' },
    says({ content: 'late' }),
  ])
  assert.equal(Object(messageOf(answer)).content, 'Hi')
  assert.deepEqual([failure?.reason, failure?.status, failure?.publicMessage], ['error_event', 502, null])
  assert.match(failure?.detail ?? '', /CUDA/)
  const read = PROTOCOL.reader(callOf()).whole({ error: 'x' })
  assert.equal('reason' in read && read.reason, 'error_event')
})

test('a body without a line that is done is cut or no answer', () => {
  assert.equal(readLines([says({ content: 'Hi' })]).failure?.reason, 'cut')
  assert.equal(readPieces(PROTOCOL, []).failure?.reason, 'garbage')
  assert.equal(readPieces(PROTOCOL, [Buffer.from('<html>')]).failure?.reason, 'garbage')
  assert.equal(readLines([says({ content: 'Hi' }), END, { error: 'late' }]).failure, null)
  for (const [body, reason] of [
    [null, 'garbage'],
    [[], 'garbage'],
    [says({ content: 'Hi' }), 'cut'],
  ] as const) {
    const read = PROTOCOL.reader(callOf()).whole(body)
    assert.equal('reason' in read && read.reason, reason)
  }
})

test('an error status carries its text', () => {
  const { status, publicMessage, refusal } = upstreamFailure(
    400,
    { error: '"upstream-model" does not support thinking' },
    {},
    0,
  )
  assert.deepEqual([status, publicMessage, refusal], [400, '"upstream-model" does not support thinking', 'request'])
})

test('more calls than any answer has end the attempt', () => {
  const read = PROTOCOL.reader(callOf()).message(
    Buffer.from(
      JSON.stringify(
        says({ tool_calls: Array.from({ length: 300 }, () => ({ function: { name: 'f', arguments: {} } })) }),
      ),
    ),
  )
  assert.equal('reason' in read && read.reason, 'garbage')
})

test('meters: a prompt wholly in the cache counts 0; each is at least 0 and equals its total', () => {
  assert.deepEqual(ollamaUsage({ eval_count: 7 }, true)?.usage, { input: 0, output: 7 })
  assert.deepEqual(ollamaUsage({ prompt_eval_count: 7 }, false)?.usage, { input: 7, output: 0 })
  assert.deepEqual(ollamaUsage({ prompt_eval_count: 7 }, true)?.missing, ['output'], 'what was said has a count')
  assert.equal(ollamaUsage({ total_duration: 1 }, true), null)
  const random = randomOf(7)
  for (let round = 0; round < 500; round += 1) {
    const count = (): unknown => [3, 0, -1, 1.5, '7', 2 ** 53, Number.NaN][Math.floor(random() * 7)]
    const report = ollamaUsage({ prompt_eval_count: count(), eval_count: count() }, round % 2 === 0)
    assert.ok(report)
    const { input = 0, output = 0 } = report.usage
    for (const units of [input, output]) assert.ok(Number.isSafeInteger(units) && units >= 0)
    assert.deepEqual([input, output], [report.inputTokens, report.outputTokens])
  }
  assert.equal(ollamaUsage({ prompt_eval_count: -1, eval_count: 1 }, true)?.implausible, true)
})
