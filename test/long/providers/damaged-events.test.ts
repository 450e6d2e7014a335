import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AnswerEvent } from '../../../src/kinds/answer/event.ts'
import { foldAnswer } from '../../../src/kinds/answer/fold.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { createAdapters } from '../../../src/protocols/index.ts'
import { isWhole, PROTOCOLS, written, type Said } from '../../providers/answer-said.ts'
import { damaged } from './damaged-answer.ts'
import { form } from '../../harness/form.ts'
import { callOf } from '../../harness/protocol-read.ts'
import { CHAT_ADAPTERS, recordedCases, type RecordedCase } from '../../harness/recording.ts'
import { startScriptedUpstream } from '../../harness/scripted-upstream.ts'
import { Random } from '../../sim/random.ts'

const ROUNDS = form({ short: 25, long: 1_000 })
const SEED = form({ short: 1, long: 2 })
const BYTES_MAX = 9_000

const { adapters, close } = createAdapters({ clock: systemClock })
const upstream = await startScriptedUpstream()
after(() => close())

interface Read {
  readonly events: readonly AnswerEvent[]
  /** The reason of the failure that ended it; null = it ended well. */
  readonly failed: string | null
}

/** What an adapter makes of an answer that comes in pieces of so many bytes. */
async function read(recorded: RecordedCase, body: Buffer, adapter: string, pieceBytes: number): Promise<Read> {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': String(recorded.headers['content-type']) })
    for (let at = 0; at < body.length; at += pieceBytes) response.write(body.subarray(at, at + pieceBytes))
    response.end()
  })
  const events: AnswerEvent[] = []
  let ends = 0
  const call = callOf({ stream: recorded.streaming }, { baseUrl: upstream.url, apiKey: 'k' })
  const { promise, resolve } = Promise.withResolvers<Read>()
  const end = (failed: string | null): void => {
    ends += 1
    resolve({ events, failed })
  }
  adapters.get(adapter)?.chat?.(call, {
    headers: () => undefined,
    push: (batch) => {
      assert.equal(ends, 0, 'nothing follows the end')
      events.push(...batch)
      return true
    },
    end: () => end(null),
    fail: ({ reason }) => end(reason),
  })
  const result = await promise
  assert.equal(ends, 1)
  return result
}

/** Asserts what every writer relies on (src/kinds/answer/event.ts). */
function checkGrammar(events: readonly AnswerEvent[]): void {
  const calls = new Map<number, number>()
  for (const event of events) {
    if ('choice' in event) assert.ok(Number.isSafeInteger(event.choice) && event.choice >= 0, JSON.stringify(event))
    switch (event.type) {
      case 'text':
      case 'reasoning':
      case 'refusal':
        assert.equal(typeof event.text, 'string')
        break
      case 'tool_call':
        assert.equal(event.index, calls.get(event.choice) ?? 0, 'calls are numbered without gaps')
        calls.set(event.choice, event.index + 1)
        assert.ok(typeof event.id === 'string' && event.id !== '', 'a call has an id')
        assert.ok(typeof event.name === 'string' && event.name !== '', 'a call has a name')
        break
      case 'tool_arguments':
        assert.ok(event.index < (calls.get(event.choice) ?? 0), 'arguments belong to a call that has begun')
        assert.equal(typeof event.text, 'string')
        break
      case 'usage':
        for (const count of [event.usage.inputTokens, event.usage.outputTokens, event.usage.cachedTokens])
          assert.ok(Number.isSafeInteger(count) && count >= 0, JSON.stringify(event))
        break
      case 'finish':
        assert.ok(
          event.native === null || (typeof event.native === 'string' && event.native !== ''),
          'a reason is a text',
        )
        break
      case 'extra':
      case 'item':
      case 'origin':
      case 'wire':
      case 'spliced':
    }
  }
}

/**
 * A stream whose next call has begun has ended the one before: what a provider adds to arguments that were complete
 * reaches only a whole answer, which then has no input that can be read.
 */
function comparable(whole: Said, streamed: Said): readonly [Said, Said] {
  const isBroken = (said: Said, index: number): boolean => {
    const call = said.calls[index]
    return call === undefined || !isWhole(call)
  }
  const read = (said: Said): Said => ({
    ...said,
    calls: said.calls.map((call, index) =>
      isBroken(whole, index) || isBroken(streamed, index) ? { ...call, input: null } : call,
    ),
  })
  return [read(whole), read(streamed)]
}

for (const [protocol, adapter] of Object.entries(CHAT_ADAPTERS)) {
  test(`${protocol}: a damaged answer is the same events however it is cut, and says the same in each protocol, streamed and whole`, async (context) => {
    const all = recordedCases(
      ({ status, body, name }) => status === 200 && body.length < BYTES_MAX && name.includes('/chat/'),
    )
    const cases = all.filter((one) => one.protocol === protocol)
    let [whole, refused] = [0, 0]
    for (let round = 0; round < ROUNDS; round += 1) {
      const seed = SEED * 1_000_000 + round
      const random = new Random(seed)
      const recorded = random.pick(cases)
      const { what, body } = damaged(recorded, random.pick(all), random)
      try {
        const first = await read(recorded, body, adapter, 1_000_000)
        const cut = await read(recorded, body, adapter, random.pick([1_000, 97, 13]))
        assert.equal(cut.failed, first.failed)
        if (first.failed === null)
          assert.deepEqual(foldAnswer(cut.events), foldAnswer(first.events), 'however it is cut')
        checkGrammar(first.events)
        if (first.failed === null) whole += 1
        else refused += 1
        if (first.failed !== null || first.events.length === 0) continue
        for (const [client, of] of Object.entries(PROTOCOLS)) {
          const said = written(of, first.events)
          assert.deepEqual(...comparable(said.whole, said.streamed), client)
        }
      } catch (thrown) {
        throw new Error(`seed ${seed}, ${recorded.name}: ${what.join(', ')}`, { cause: thrown })
      }
    }
    context.diagnostic(`${whole} whole, ${refused} refused`)
    assert.ok(whole > ROUNDS / 10 && refused > ROUNDS / 10)
  })
}
