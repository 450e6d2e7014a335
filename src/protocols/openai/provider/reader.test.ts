import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AnswerEnd } from '../../../kinds/answer/end.ts'
import { foldAnswer } from '../../../kinds/answer/fold.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { ChatAnswer } from '../../../kinds/chat/answer.ts'
import { textAround, ChatWriter } from '../client/chat/writer.ts'
import type { AttemptFailure } from '../../ports/attempt-failure.ts'
import type { ChatCall } from '../../ports/call.ts'
import { EventStream, sseMessages } from '../../upstream/events.ts'
import { OpenaiReader } from './reader.ts'
import { foldStream } from '../../../../test/harness/chat-fold.ts'
import { cutAtRandom, randomOf, recordedCases } from '../../../../test/harness/recording.ts'

const ROUNDS = 30
const IDENTITY = { id: 'gen-1-abc', created: 1, model: 'a/b', provider: 'P' }

interface Read {
  readonly events: readonly AnswerEvent[]
  readonly answer: ChatAnswer
  readonly failure: AttemptFailure | null
}

/** Reads a stream in the given pieces, as the transport delivers them; `spliced`: the client reads the same dialect. */
function read(pieces: readonly Buffer[], spliced: boolean): Read {
  const splice: ChatCall['splice'] = spliced ? (field) => textAround(IDENTITY, field) : null
  const reader = new OpenaiReader({ generationId: IDENTITY.id, sellsSearch: false, choices: 1, splice })
  const events: AnswerEvent[] = []
  const stream = new EventStream(sseMessages, reader, {
    headers: () => undefined,
    push: (batch) => {
      events.push(...batch)
      return true
    },
    end: () => undefined,
    fail: () => undefined,
  })
  let failure: AttemptFailure | null = null
  for (const piece of pieces) {
    const progress = stream.push(Buffer.from(piece))
    failure = progress.failure
    if (failure !== null || progress.state === 'done') break
  }
  return { events, answer: foldAnswer(events), failure: failure ?? stream.end() }
}

/** The answer that a client assembles from the chunks written for the events. */
function asClient(events: readonly AnswerEvent[]): unknown {
  const { choices } = foldStream(200, new ChatWriter(IDENTITY, false).write(events).toString('utf8'), {})
  return [...choices].map(([index, { text, reasoning, refusal, toolCalls }]) => ({
    index,
    text,
    reasoning,
    refusal,
    toolCalls,
  }))
}

function asFolded({ choices }: ChatAnswer): unknown {
  return choices.map(({ index, message }) => ({
    index,
    text: message['content'] ?? '',
    reasoning: message['reasoning'] ?? '',
    refusal: message['refusal'] ?? '',
    // The fold makes this form.
    toolCalls: ((message['tool_calls'] ?? []) as { id: string; function: { name: string; arguments: string } }[]).map(
      (call) => ({ id: call.id, ...call.function }),
    ),
  }))
}

const recorded = recordedCases(
  ({ protocol, streaming, status, framing }) =>
    protocol === 'openai-chat' && streaming && status < 400 && framing === 'sse',
)

describe('recorded streams of the OpenAI dialects', () => {
  test('there are some', () => assert.ok(recorded.length > 30))
  for (const { name, body } of recorded) {
    test(`${name}: one answer at every cut, spliced or parsed, folded here or by the client`, () => {
      const once = read([body], false)
      const random = randomOf(7)
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const spliced of [false, true]) {
          const cut = read(cutAtRandom(body, random), spliced)
          assert.deepEqual(cut.failure, once.failure)
          assert.deepEqual(cut.answer, once.answer, `round ${round}, ${spliced ? 'spliced' : 'parsed'}`)
          assert.deepEqual(asClient(cut.events), asFolded(cut.answer), `round ${round}: the client's fold`)
        }
      }
    })
  }

  test('the end knows of the events what the fold knows', () => {
    for (const one of recorded) {
      const { events, answer } = read([one.body], true)
      const end = new AnswerEnd()
      for (const event of events) end.add(event)
      const { finishes, usage, upstreamId, hasContent } = end.result()
      assert.deepEqual(
        { usage, upstreamId, hasContent },
        { usage: answer.usage, upstreamId: answer.upstreamId, hasContent: answer.hasContent },
        one.name,
      )
      assert.deepEqual(
        finishes,
        answer.choices.map(({ index, finish, native }) => ({ index, finish, native })),
        one.name,
      )
    }
  })
})

test('usage beside more choices than any request asks for is what the refused answer cost', () => {
  const choices = Array.from({ length: 257 }, (_, index) => ({ index, delta: { content: 'x' } }))
  const usage = { prompt_tokens: 3, completion_tokens: 257 }
  const { failure } = read([Buffer.from(`data: ${JSON.stringify({ id: 'x', choices, usage })}\n\n`)], false)
  assert.equal(failure?.reason, 'garbage')
  assert.equal(failure.billed?.outputTokens, 257)
})
