import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseChat } from '../openai/client/chat/call.ts'
import { eventText, type AnswerEvent } from '../../kinds/answer/event.ts'
import { foldAnswer } from '../../kinds/answer/fold.ts'
import { systemClock } from '../../base/clock.ts'
import { endpoint } from '../../../test/harness/plan-fixture.ts'
import { createAiSdk } from './ai-sdk.ts'
import { FileFetch } from '../wire/file-fetch.ts'
import { SdkAnswer, type SdkPart, sdkUsage } from './sdk-chat.ts'
import { factoryOf } from './sdk-packages.ts'
import { Transport } from '../wire/transport.ts'
import { untilStill } from '../../../test/harness/patience.ts'

const NO_USAGE = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
}
const STOP: SdkPart = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: NO_USAGE }

function eventsOf(parts: readonly SdkPart[], showsReasoning = true): readonly AnswerEvent[] {
  const answer = new SdkAnswer('gen-1-abc', showsReasoning)
  return parts.flatMap((part) => answer.read(part))
}

function callsOf(parts: readonly SdkPart[]): unknown {
  return foldAnswer(eventsOf([...parts, STOP])).choices[0]?.message['tool_calls']
}

const call = (id: string, text: string): object => ({
  id,
  type: 'function',
  function: { name: `f-${id}`, arguments: text },
})

test('a tool call that came in pieces is not said again when it comes whole', () => {
  const parts: SdkPart[] = [
    { type: 'tool-input-start', id: 'a', toolName: 'f-a' },
    { type: 'tool-input-start', id: 'b', toolName: 'f-b' },
    { type: 'tool-input-delta', id: 'b', delta: '{"y":' },
    { type: 'tool-input-delta', id: 'a', delta: '{"x":1}' },
    { type: 'tool-input-delta', id: 'b', delta: '2}' },
    { type: 'tool-input-end', id: 'a' },
    { type: 'tool-call', toolCallId: 'a', toolName: 'f-a', input: '{"x":1}' },
    { type: 'tool-call', toolCallId: 'b', toolName: 'f-b', input: '{"y":2}' },
  ]
  assert.deepEqual(callsOf(parts), [call('a', '{"x":1}'), call('b', '{"y":2}')])
})

test('a call that was never in pieces, one without arguments and one whose pieces are no JSON are said when they come whole', () => {
  assert.deepEqual(callsOf([{ type: 'tool-call', toolCallId: 'a', toolName: 'f-a', input: '{"x":1}' }]), [
    call('a', '{"x":1}'),
  ])
  assert.deepEqual(
    callsOf([
      { type: 'tool-input-start', id: 'a', toolName: 'f-a' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'f-a', input: '{}' },
    ]),
    [call('a', '{}')],
  )
  assert.deepEqual(
    callsOf([
      { type: 'tool-input-start', id: 'a', toolName: 'f-a', inputEncoding: 'text' },
      { type: 'tool-input-delta', id: 'a', delta: 'plain words' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'f-a', input: '"plain words"' },
    ]),
    [call('a', '"plain words"')],
  )
})

test("what the provider runs itself is not the client's to run", () => {
  const parts: SdkPart[] = [
    { type: 'tool-input-start', id: 'a', toolName: 'search', providerExecuted: true },
    { type: 'tool-input-delta', id: 'a', delta: '{}' },
    { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: '{}', providerExecuted: true },
    { type: 'tool-result', toolCallId: 'a', toolName: 'search', result: { found: 1 } },
    { type: 'tool-call', toolCallId: 'b', toolName: 'f-b', input: '{}' },
  ]
  assert.deepEqual(callsOf(parts), [call('b', '{}')])
})

test('images and cited addresses arrive, other files and unknown parts do not', () => {
  const parts: SdkPart[] = [
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2]) } },
    { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://pictures.example/a.png') } },
    { type: 'file', mediaType: 'text/plain', data: { type: 'data', data: 'eA==' } },
    { type: 'source', sourceType: 'url', id: '1', url: 'https://pages.example/', title: 'Page' },
    { type: 'source', sourceType: 'document', id: '2', mediaType: 'text/plain', title: 'Document' },
    { type: 'ping' },
    STOP,
  ]
  const { message } = foldAnswer(eventsOf(parts)).choices[0] ?? {}
  assert.deepEqual(message?.['images'], [
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AQI=' } },
    { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } },
  ])
  assert.deepEqual(message?.['annotations'], [
    {
      type: 'url_citation',
      url_citation: { url: 'https://pages.example/', title: 'Page', start_index: 0, end_index: 0 },
    },
  ])
})

test("the package's reason decides where the provider's word is unknown; calls win, but for an answer cut by length", () => {
  const finishOf = (
    unified: 'stop' | 'length' | 'content-filter' | 'other',
    raw: string | undefined,
    parts: readonly SdkPart[] = [],
  ): unknown => {
    const { finish, native } =
      foldAnswer(eventsOf([...parts, { type: 'finish', finishReason: { unified, raw }, usage: NO_USAGE }]))
        .choices[0] ?? {}
    return [finish, native]
  }
  const called: SdkPart = { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: '{}' }
  assert.deepEqual(finishOf('length', 'budget_is_gone'), ['length', 'budget_is_gone'])
  assert.deepEqual(finishOf('content-filter', 'guard'), ['content_filter', 'guard'])
  assert.deepEqual(finishOf('other', 'MAX_TOKENS'), ['length', 'MAX_TOKENS'])
  assert.deepEqual(finishOf('stop', 'stop', [called]), ['tool_calls', 'stop'])
  assert.deepEqual(finishOf('length', 'length', [called]), ['length', 'length'])
})

test('an answer that says nothing is the empty text, streamed or not, and reasoning can be kept back', () => {
  assert.equal(foldAnswer(eventsOf([STOP])).choices[0]?.message['content'], '')
  assert.deepEqual(foldAnswer(eventsOf([{ type: 'reasoning', text: 'hm' }, STOP], false)).choices[0]?.message, {
    role: 'assistant',
    content: '',
    refusal: null,
  })
})

test('property: a stream in any pieces folds to what the same answer says at once', () => {
  const piece = fc.oneof(
    fc.record({ type: fc.constant('text' as const), text: fc.string() }),
    fc.record({ type: fc.constant('reasoning' as const), text: fc.string() }),
    fc.record({ type: fc.constant('tool-call' as const), toolName: fc.string({ minLength: 1 }), input: fc.json() }),
  )
  const halves = (text: string, at: number): readonly string[] => [text.slice(0, at), text.slice(at)]
  fc.assert(
    fc.property(fc.array(piece), fc.nat(10), (pieces, at) => {
      const whole: SdkPart[] = []
      const streamed: SdkPart[] = []
      for (const [index, part] of pieces.entries()) {
        const id = `id-${index}`
        if (part.type === 'tool-call') {
          const complete = { ...part, toolCallId: id }
          whole.push(complete)
          streamed.push(
            { type: 'tool-input-start', id, toolName: part.toolName },
            ...halves(part.input, at).map((delta) => ({ type: 'tool-input-delta', id, delta }) as const),
            { type: 'tool-input-end', id },
            complete,
          )
        } else {
          whole.push(part)
          const type = part.type === 'text' ? 'text-delta' : 'reasoning-delta'
          streamed.push(...halves(part.text, at).map((delta) => ({ type, id, delta }) as const))
        }
      }
      assert.deepEqual(foldAnswer(eventsOf([...streamed, STOP])), foldAnswer(eventsOf([...whole, STOP])))
    }),
  )
})

test('usage: disjoint meters under the totals, null where the provider sent none, odd numbers flagged', () => {
  const report = (input: object, output: object): ReturnType<typeof sdkUsage> =>
    sdkUsage({ inputTokens: input, outputTokens: output })
  assert.equal(sdkUsage(NO_USAGE), null)
  assert.equal(sdkUsage(undefined), null)
  const all = report({ total: 100, noCache: 50, cacheRead: 30, cacheWrite: 20 }, { total: 40, text: 25, reasoning: 15 })
  assert.deepEqual(all, {
    usage: { input: 50, cache_read: 30, cache_write: 20, output: 25, reasoning: 15 },
    inputTokens: 100,
    outputTokens: 40,
    cachedTokens: 30,
    cacheWriteTokens: 20,
    reasoningTokens: 15,
    implausible: false,
  })
  assert.deepEqual(report({ noCache: 5, cacheRead: 3 }, { text: 2, reasoning: 1 })?.usage, {
    input: 5,
    cache_read: 3,
    output: 2,
    reasoning: 1,
  })
  assert.deepEqual(report({ total: 10, cacheRead: 99 }, { total: 5, reasoning: 99 })?.usage, {
    input: 0,
    cache_read: 10,
    output: 0,
    reasoning: 5,
  })
  for (const odd of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 'x']) {
    const found = report({ total: odd }, { total: 7 })
    assert.equal(found?.implausible, true, String(odd))
    assert.deepEqual([found.usage, found.missing], [{ output: 7 }, ['input']])
  }
})

test('property: the meters of an answer are never negative and add up to its totals', () => {
  const count = fc.option(fc.oneof(fc.nat(), fc.integer(), fc.double()), { nil: undefined })
  const input = fc.record({ total: count, noCache: count, cacheRead: count, cacheWrite: count })
  const output = fc.record({ total: count, text: count, reasoning: count })
  fc.assert(
    fc.property(input, output, (inputTokens, outputTokens) => {
      const report = sdkUsage({ inputTokens, outputTokens })
      if (report === null) return
      const {
        input: fresh = 0,
        cache_read: read = 0,
        cache_write: written = 0,
        output: said = 0,
        reasoning: thought = 0,
      } = report.usage
      assert.ok([fresh, read, written, said, thought].every((units) => Number.isSafeInteger(units) && units >= 0))
      assert.equal(fresh + read + written, report.inputTokens)
      assert.equal(said + thought, report.outputTokens)
    }),
  )
})

test('the factory is the only create… function, or the one that is named', () => {
  const createOne = (): null => null
  const createTwo = (): null => null
  assert.equal(factoryOf({ VERSION: '1', one: createOne, createOne, createText: 'no function' }, 'p', null), createOne)
  assert.equal(factoryOf({ createOne, createTwo }, 'p', 'createTwo'), createTwo)
  assert.throws(
    () => factoryOf({ createOne, createTwo }, 'p', null),
    /p exports createOne, createTwo: the provider's row must name one of them as factory/,
  )
  assert.throws(() => factoryOf({ one: createOne }, 'p', null), /p exports no function create…/)
  assert.throws(() => factoryOf({ createOne }, 'p', 'createTwo'), /p exports no function createTwo/)
})

test('a sink that is full stops the provider, and gets everything once it goes on', async () => {
  const events = 40_000
  const text = 'x'.repeat(500)
  let sent = 0
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const more = (): void => {
      while (sent < events) {
        sent += 1
        const finish = sent === events ? 'stop' : null
        if (
          !response.write(
            `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: text }, finish_reason: finish }] })}\n\n`,
          )
        )
          return
      }
      response.end('data: [DONE]\n\n')
    }
    response.on('drain', more)
    more()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // The address of a TCP server is an object.
  const { port } = server.address() as AddressInfo
  const transport = new Transport(systemClock)
  const base = endpoint('long')
  const provider = {
    ...base.provider,
    adapter: 'ai-sdk',
    baseUrl: `http://127.0.0.1:${port}/v1`,
    sdkPackage: { name: '@ai-sdk/mistral', factory: null },
  }
  const request = parseChat({ messages: [{ role: 'user', content: 'Hello' }], stream: true })
  const full = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  let length = 0
  let open = false
  const { chat } = createAiSdk({ transport, files: new FileFetch() })
  assert.ok(chat !== undefined)
  const running = chat(
    {
      endpoint: { ...base, provider },
      apiKey: 'k',
      request,
      sendMaxTokens: null,
      generationId: 'gen-1-abc',
      splice: null,
    },
    {
      headers: () => undefined,
      push: (batch) => {
        for (const event of batch) length += eventText(event).length
        if (length > 0 && !open) full.resolve()
        return open || length === 0
      },
      end: () => ended.resolve(),
      fail: (found) => ended.reject(new Error(found.detail)),
    },
  )
  await full.promise
  const stopped = length
  // Waits until the sockets' buffers are full.
  await untilStill(() => sent)
  assert.equal(length, stopped)
  assert.ok(sent < events, `${sent} events were sent into a full sink`)
  open = true
  running.resume()
  await ended.promise
  assert.equal(length, events * text.length)
  await transport.close()
  server.closeAllConnections()
  server.close()
})
