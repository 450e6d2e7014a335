import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { namedReason } from '../../../kinds/answer/finish-reason.ts'
import { markedSignature } from '../client/signed-parts.ts'
import type { Adapter } from '../../ports/adapter.ts'
import type { AttemptFailure } from '../../ports/attempt-failure.ts'
import type { GenerateContentCall } from '../../ports/call.ts'
import { askEvents, sseMessages, type EventReader, type KnownEvents } from '../../upstream/events.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import type { Transport, UpstreamHeaders } from '../../wire/transport.ts'
import { KnownChunk } from './known-chunk.ts'
import { signerOf, traitsOf } from '../../models/gemini-traits.ts'
import { GeminiReader } from './reader.ts'
import { generatePath, geminiCredentials, withTier } from './request.ts'

/** Sends the client's own request, and passes the answer on as it came, read on the way (clients.md D-14.2). */
export function geminiGenerateContent(transport: Transport): NonNullable<Adapter['generateContent']> {
  return (call, sink) =>
    askEvents(
      transport,
      call,
      {
        request: () => ({
          path: generatePath(call.endpoint.upstreamModel, call.streaming),
          ...withTier(call.endpoint, call.serviceTier, call.body, geminiCredentials(call.apiKey)),
        }),
        reader: () => new NativeReader(call),
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

  constructor({ generationId, candidates, owned, searches, endpoint }: GenerateContentCall) {
    const billsSearch = searches ? traitsOf(endpoint.upstreamModel).billsSearch : null
    const signer = signerOf(endpoint)
    this.#reader = new GeminiReader({ generationId, candidates, hidesReasoning: false, billsSearch, signer })
    this.#owned = signer === null ? owned : (chunk) => owned(markedChunk(chunk, signer))
  }

  answered(headers: UpstreamHeaders): void {
    this.#reader.answered(headers)
  }

  get state(): AnswerState {
    return this.#reader.state
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
}

/** The chunk with the provider's mark on its signatures, most chunks having none. */
function markedChunk(chunk: RawJson, provider: string): RawJson {
  const candidates = listOf(chunk['candidates'])
  const parts = candidates.flatMap((candidate) => listOf(objectOf(objectOf(candidate)?.['content'])?.['parts']))
  if (!parts.some((part) => textOf(objectOf(part)?.['thoughtSignature']) !== null)) return chunk
  return { ...chunk, candidates: candidates.map((candidate) => markedCandidate(candidate, provider)) }
}

function markedCandidate(raw: unknown, provider: string): unknown {
  const candidate = objectOf(raw)
  const content = objectOf(candidate?.['content'])
  if (content === null) return raw
  const parts = listOf(content['parts']).map((given) => {
    const part = objectOf(given)
    const signature = textOf(part?.['thoughtSignature']) ?? ''
    return part === null || signature === ''
      ? given
      : { ...part, thoughtSignature: markedSignature(signature, provider) }
  })
  return { ...candidate, content: { ...content, parts } }
}

/** Whether a chunk ends a candidate, or has no content, such as usage after the end. */
function isLast(chunk: RawJson): boolean {
  const candidates = listOf(chunk['candidates']).map(objectOf)
  return candidates.every((candidate) => namedReason(candidate?.['finishReason']) !== null)
}
