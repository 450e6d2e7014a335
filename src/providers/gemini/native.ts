import type { AnswerEvent } from '../../kinds/answer/event.ts'
import type { Adapter } from '../../protocols/ports/adapter.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import type { GenerateContentCall } from '../../protocols/ports/call.ts'
import { askEvents, sseMessages, type EventReader, type KnownEvents } from '../../protocols/upstream/events.ts'
import { listOf, objectOf, parseJson, type RawJson } from '../../protocols/wire/raw-json.ts'
import type { Transport, UpstreamHeaders } from '../../protocols/wire/transport.ts'
import { KnownChunk } from '../../protocols/gemini/provider/known-chunk.ts'
import { traitsOf } from './model-traits.ts'
import { GeminiReader } from '../../protocols/gemini/provider/reader.ts'
import { generatePath, geminiCredentials } from '../../protocols/gemini/provider/request.ts'

/** Sends the client's own request, and passes the answer on as it came, read on the way (clients.md D-14.2). */
export function geminiGenerateContent(
  transport: Transport,
  now: () => number,
): NonNullable<Adapter['generateContent']> {
  return (call, sink) =>
    askEvents(
      transport,
      call,
      {
        request: () => ({
          path: generatePath(call.endpoint.upstreamModel, call.streaming),
          body: call.body,
          headers: geminiCredentials(call.apiKey),
        }),
        reader: () => new NativeReader(call, now),
        decoder: sseMessages,
      },
      sink,
    )
}

/** The ordinary events, with the provider's own chunk beside them. */
export class NativeReader implements EventReader {
  readonly #reader: GeminiReader
  readonly #owned: GenerateContentCall['owned']
  readonly #chunk = new KnownChunk()

  constructor({ generationId, owned, searches, endpoint }: GenerateContentCall, now: () => number) {
    const billsSearch = searches ? traitsOf(endpoint.upstreamModel).billsSearch : null
    this.#reader = new GeminiReader({ generationId, hidesReasoning: false, billsSearch }, now)
    this.#owned = owned
  }

  get done(): boolean {
    return this.#reader.done
  }

  known(bytes: Buffer, start: number): KnownEvents | null {
    const run = this.#chunk.run(bytes, start)
    if (run === null) return null
    const read = this.#reader.read(run.chunk)
    if ('reason' in read) return { read, end: run.end }
    return { read: [...read, ...run.sent.map((sent) => ({ type: 'wire', sent }) as const)], end: run.end }
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const chunk = objectOf(parseJson(data))
    if (chunk === null) return this.#reader.message(data)
    const read = this.#reader.read(chunk)
    if ('reason' in read) return read
    const owned = this.#owned(chunk)
    if (isLast(chunk)) return [...read, { type: 'wire', sent: owned }]
    this.#chunk.learn(data, chunk, owned)
    return [...read, { type: 'wire', sent: Buffer.from(JSON.stringify(owned)) }]
  }

  ended(): AttemptFailure | null {
    return this.#reader.ended()
  }

  whole(body: unknown): readonly AnswerEvent[] | AttemptFailure {
    const read = this.#reader.whole(body)
    const answer = objectOf(body)
    return 'reason' in read || answer === null ? read : [...read, { type: 'wire', sent: this.#owned(answer) }]
  }

  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure {
    return this.#reader.error(status, body, headers)
  }
}

/** Whether a chunk ends a candidate, or has no content, such as usage after the end. */
function isLast(chunk: RawJson): boolean {
  const candidates = listOf(chunk['candidates']).map(objectOf)
  return candidates.every((candidate) => typeof candidate?.['finishReason'] === 'string')
}
