import assert from 'node:assert/strict'
import type { AnswerEvent } from '../../src/kinds/answer/event.ts'
import { foldAnswer } from '../../src/kinds/answer/fold.ts'
import type { ChatAnswer } from '../../src/kinds/chat/answer.ts'
import { parseChat } from '../../src/protocols/openai/client/chat/call.ts'
import { endpoint } from './plan-fixture.ts'
import type { AttemptFailure } from '../../src/protocols/ports/attempt-failure.ts'
import { type ChatCall, UnsendableError, type JsonRequest } from '../../src/protocols/ports/call.ts'
import type { ChatProtocol, EventReader, MessageDecoding } from '../../src/protocols/upstream/events.ts'
import { cutAtRandom, randomOf, recordedCases, type RecordedCase } from './recording.ts'

export interface ProtocolRead {
  readonly answer: ChatAnswer
  readonly failure: AttemptFailure | null
  /** Whether the terminal marker has arrived. */
  readonly done: boolean
}

export const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Now',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}

export interface Circumstances {
  /** What the provider calls the model. */
  readonly model?: string
  readonly baseUrl?: string
  readonly apiKey?: string | null
  readonly sendMaxTokens?: number | null
  readonly maxCompletionTokens?: number | null
  readonly supportedParameters?: readonly string[] | null
}

/** A call whose request body has the given fields. */
export function callOf(
  fields: Readonly<Record<string, unknown>> = {},
  {
    model = 'upstream-model',
    baseUrl = 'http://upstream.test/v1',
    apiKey = null,
    sendMaxTokens = null,
    maxCompletionTokens = null,
    supportedParameters = null,
  }: Circumstances = {},
): ChatCall {
  const base = endpoint('upstream')
  return {
    endpoint: {
      ...base,
      provider: { ...base.provider, baseUrl },
      upstreamModel: model,
      maxCompletionTokens,
      supportedParameters,
    },
    apiKey,
    request: parseChat({ model: 'a/b', messages: [{ role: 'user', content: 'Hello' }], ...fields }),
    sendMaxTokens,
    generationId: 'gen-1-abc',
    splice: null,
  }
}

type Fields = Readonly<Record<string, unknown>>

interface RequestTools {
  readonly callOf: (fields?: Fields, circumstances?: Circumstances) => ChatCall
  readonly requestOf: (fields: Fields, circumstances?: Circumstances) => JsonRequest
  readonly bodyOf: (fields: Fields, circumstances?: Circumstances) => Fields
  readonly messagesOf: (messages: readonly unknown[], circumstances?: Circumstances) => unknown
  readonly refuses: (fields: Fields, message: RegExp, circumstances?: Circumstances) => void
}

/** Helpers for tests of a protocol's requests; `usual`: the circumstances for tests that set none. */
export function requestsOf(protocol: ChatProtocol, usual: Circumstances = {}): RequestTools {
  const call: RequestTools['callOf'] = (fields, circumstances) => callOf(fields, { ...usual, ...circumstances })
  const requestOf: RequestTools['requestOf'] = (fields, circumstances) => protocol.request(call(fields, circumstances))
  const bodyOf: RequestTools['bodyOf'] = (fields, circumstances) => requestOf(fields, circumstances).body
  return {
    callOf: call,
    requestOf,
    bodyOf,
    messagesOf: (messages, circumstances) => bodyOf({ messages }, circumstances)['messages'],
    refuses: (fields, message, circumstances) =>
      assert.throws(
        () => bodyOf(fields, circumstances),
        (thrown) => thrown instanceof UnsendableError && message.test(thrown.message),
      ),
  }
}

/** Reads a stream in the given pieces, as the network would deliver them. */
export function readPieces(protocol: ChatProtocol, pieces: readonly Buffer[], call = callOf()): ProtocolRead {
  const reader = protocol.reader(call)
  const { events, failure } = eventsOf(reader, protocol.decoder, pieces)
  return { answer: foldAnswer(events), failure, done: reader.state === 'done' }
}

/** The events of a stream in the given pieces, and why the stream is not complete. */
export function eventsOf(
  reader: EventReader,
  decoding: MessageDecoding,
  pieces: readonly Buffer[],
): { readonly events: readonly AnswerEvent[]; readonly failure: AttemptFailure | null } {
  const events: AnswerEvent[] = []
  let failure: AttemptFailure | null = null
  const take = (found: readonly AnswerEvent[] | AttemptFailure): void => {
    if ('reason' in found) failure = found
    else events.push(...found)
  }
  const decoder = decoding({
    message: (data) => {
      if (failure === null && reader.state !== 'done') take(reader.message(data))
    },
    known: (bytes, start) => {
      const known = failure === null && reader.state !== 'done' ? reader.known?.(bytes, start) : null
      if (known) take(known.read)
      return known?.end ?? start
    },
    error: () => assert.fail('there is no error line'),
  })
  for (const piece of pieces) assert.ok(decoder.push(Buffer.from(piece)))
  decoder.end()
  return { events, failure: failure ?? reader.ended() }
}

/** Reads an answer that is not streamed. */
export function readWhole(protocol: ChatProtocol, body: unknown, call = callOf()): ChatAnswer {
  const events = protocol.reader(call).whole(body)
  assert.ok(!('reason' in events), JSON.stringify(events))
  return foldAnswer(events)
}

interface ReadTools {
  readonly callOf: (fields?: Fields) => ChatCall
  readonly read: (pieces: readonly Buffer[], call?: ChatCall) => ProtocolRead
  readonly whole: (body: unknown, call?: ChatCall) => ReturnType<EventReader['whole']>
  readonly foldWhole: (body: unknown, call?: ChatCall) => ChatAnswer
}

/** Helpers for tests of a protocol's reader, with an upstream model of the given name. */
export function readsOf(protocol: ChatProtocol, model: string): ReadTools {
  const call: ReadTools['callOf'] = (fields) => callOf({ stream: true, ...fields }, { model, sendMaxTokens: 100 })
  return {
    callOf: call,
    read: (pieces, of = call()) => readPieces(protocol, pieces, of),
    whole: (body, of = call({ stream: false })) => protocol.reader(of).whole(body),
    foldWhole: (body, of = call({ stream: false })) => readWhole(protocol, body, of),
  }
}

/** Folds a stream cut at random places and byte by byte; asserts that the answer is always the same, and returns it. */
export function foldAtEveryCut(protocol: ChatProtocol, body: Buffer, rounds = 40): ProtocolRead {
  const expected = readPieces(protocol, [body])
  for (let seed = 1; seed <= rounds; seed += 1)
    assert.deepEqual(readPieces(protocol, cutAtRandom(body, randomOf(seed))), expected, `seed ${seed}`)
  assert.deepEqual(
    readPieces(
      protocol,
      [...body].map((byte) => Buffer.from([byte])),
    ),
    expected,
    'byte by byte',
  )
  return expected
}

/** The successful recorded answers of a protocol. */
export function recordingsOf(protocol: string): readonly RecordedCase[] {
  return recordedCases((recorded) => recorded.protocol === protocol && recorded.status < 400)
}
