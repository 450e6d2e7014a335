import assert from 'node:assert/strict'
import type { AnswerEvent } from '../../src/kinds/answer-event.ts'
import { foldAnswer } from '../../src/kinds/answer-fold.ts'
import type { ChatAnswer } from '../../src/kinds/chat-answer.ts'
import { parseChat } from '../../src/kinds/chat-parse.ts'
import { endpoint } from '../../src/plan/plan-fixture.ts'
import type { AttemptFailure, ChatCall } from '../../src/providers/adapter.ts'
import type { NativeProtocol } from '../../src/providers/native.ts'
import { cutAtRandom, randomOf } from './random-cuts.ts'
import { recordedCases, type RecordedCase } from './recording.ts'

export interface NativeRead {
  readonly answer: ChatAnswer
  readonly failure: AttemptFailure | null
}

export interface Circumstances {
  readonly apiKey?: string | null
  readonly sendMaxTokens?: number | null
  readonly maxCompletionTokens?: number | null
  readonly supportedParameters?: readonly string[] | null
}

/** A call with the given fields of the request's body. */
export function nativeCall(
  fields: Readonly<Record<string, unknown>> = {},
  { apiKey = null, sendMaxTokens = null, maxCompletionTokens = null, supportedParameters = null }: Circumstances = {},
): ChatCall {
  return {
    endpoint: endpoint('upstream', { upstreamModel: 'upstream-model', maxCompletionTokens, supportedParameters }),
    apiKey,
    request: parseChat({ model: 'a/b', messages: [{ role: 'user', content: 'Hello' }], ...fields }),
    sendMaxTokens,
    generationId: 'gen-1-abc',
    splice: null,
  }
}

/** Reads a stream in the given pieces, as the transport would bring them. */
export function readPieces(protocol: NativeProtocol, pieces: readonly Buffer[], call = nativeCall()): NativeRead {
  const reader = protocol.reader(call)
  const events: AnswerEvent[] = []
  let failure: AttemptFailure | null = null
  const decoder = protocol.decoder({
    message: (data) => {
      if (failure !== null || reader.done) return
      const found = reader.message(data)
      if ('reason' in found) failure = found
      else events.push(...found)
    },
    error: () => assert.fail('there is no error line'),
  })
  for (const piece of pieces) assert.ok(decoder.push(Buffer.from(piece)))
  decoder.end()
  return { answer: foldAnswer(events), failure: failure ?? reader.ended() }
}

/** Reads a plain answer. */
export function readWhole(protocol: NativeProtocol, body: unknown, call = nativeCall()): ChatAnswer {
  const events = protocol.reader(call).whole(body)
  assert.ok(!('reason' in events), JSON.stringify(events))
  return foldAnswer(events)
}

/** Folds a stream at random cuts and byte by byte: always to the same answer, which is returned. */
export function foldAtEveryCut(protocol: NativeProtocol, body: Buffer, rounds = 40): NativeRead {
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

/** Recorded good answers of a protocol. */
export function recordingsOf(protocol: string): readonly RecordedCase[] {
  return recordedCases().filter((recorded) => recorded.protocol === protocol && recorded.status < 400)
}
