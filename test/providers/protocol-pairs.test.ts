import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { AnswerEvent } from '../../src/kinds/answer/event.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createAdapters } from '../../src/protocols/index.ts'
import type { AttemptFailure } from '../../src/protocols/ports/attempt-failure.ts'
import { isWhole, PROTOCOLS, written } from './answer-said.ts'
import { callOf } from '../harness/protocol-read.ts'
import { CHAT_ADAPTERS, recordedCases, type RecordedCase } from '../harness/recording.ts'
import { startReplayUpstream } from '../harness/replay.ts'

const { adapters, close } = createAdapters({ clock: systemClock })
const upstream = await startReplayUpstream()
after(() => close())

/** What a provider's recorded answer is read into. */
async function eventsFrom(recorded: RecordedCase, adapter: string): Promise<readonly AnswerEvent[] | AttemptFailure> {
  await upstream.slot(adapter, [{ case: recorded.name, opts: { split: 'bytes:97' } }])
  const events: AnswerEvent[] = []
  const call = callOf(
    { stream: recorded.streaming, max_tokens: 20_000 },
    { baseUrl: `${upstream.url}/slot/${adapter}`, apiKey: 'k', sendMaxTokens: 20_000 },
  )
  const { promise, resolve } = Promise.withResolvers<readonly AnswerEvent[] | AttemptFailure>()
  adapters.get(adapter)?.chat?.(call, {
    headers: () => undefined,
    push: (batch) => {
      events.push(...batch)
      return true
    },
    end: () => resolve(events),
    fail: resolve,
  })
  return promise
}

const counts = new Map<string, number>()
for (const [protocol, adapter] of Object.entries(CHAT_ADAPTERS)) {
  describe(`recorded answers of ${protocol} say the same to every client, streamed and whole`, () => {
    const cases = recordedCases((one) => one.protocol === protocol && one.name.split('/')[1] === 'chat')
    for (const recorded of cases.filter(({ status }) => status < 400))
      test(recorded.name, async () => {
        const events = await eventsFrom(recorded, adapter)
        // A failure in the middle is no answer, and it has tests of its own; of spoken words only chat has a field.
        if ('reason' in events || events.some((event) => event.type === 'extra' && event.field === 'audio')) return
        counts.set(protocol, (counts.get(protocol) ?? 0) + 1)
        const native = events.findLast((event) => event.type === 'finish' && event.choice === 0)
        const { streamed: wanted } = written(PROTOCOLS['chat'] ?? assert.fail(), events)
        for (const [client, of] of Object.entries(PROTOCOLS)) {
          const { streamed, whole } = written(of, events)
          assert.deepEqual(whole, streamed, client)
          const finish = of.finishes[wanted.finish] ?? wanted.finish
          const calls = client === 'gemini' ? wanted.calls.filter(isWhole) : wanted.calls
          assert.deepEqual({ ...streamed, finish }, { ...wanted, calls, finish }, client)
          assert.ok(
            streamed.finish === finish || (native?.type === 'finish' && streamed.finish === native.native),
            `${client}: ${streamed.finish}`,
          )
        }
      })
  })
}

test('there are answers of every protocol', () => {
  assert.deepEqual([...counts.keys()], Object.keys(CHAT_ADAPTERS))
})
