import type { ApiError } from '../../../base/errors.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, StreamEnd } from '../../../kinds/chat/answer.ts'
import { isObject } from '../../../kinds/fields/body-fields.ts'
import { ChunkFrames } from './frames.ts'
import type { GenerateContentRequest } from './request.ts'
import { usageMetadata } from './usage.ts'
import { errorChunk, finishReasonName, GeminiWriter } from './writer.ts'
import type { JsonObject } from '../../../base/json-text.ts'

/**
 * Passes on the answer of a provider of the protocol (clients.md D-14.2). Id and model are ours, and the last chunks
 * wait for the charge.
 */
export class UnfilteredGemini implements AnswerWriter {
  readonly #identity: ChunkIdentity
  readonly #request: GenerateContentRequest
  readonly #frames: ChunkFrames
  #held: JsonObject[] = []

  constructor(identity: ChunkIdentity, request: GenerateContentRequest) {
    this.#identity = identity
    this.#request = request
    this.#frames = new ChunkFrames(request.framing)
  }

  write(events: readonly AnswerEvent[]): Buffer {
    const out: Buffer[] = []
    for (const event of events) {
      if (event.type !== 'wire') continue
      const { sent } = event
      if (!Buffer.isBuffer(sent)) this.#held.push(sent)
      else {
        // The held chunk was not the last one.
        for (const held of this.#held.splice(0)) out.push(this.#frames.chunk(held))
        out.push(this.#frames.raw(sent))
      }
    }
    return Buffer.concat(out)
  }

  end({ serviceTier }: StreamEnd, usage: ChargedUsage): Buffer {
    const last = this.#held.pop() ?? { candidates: [] }
    return this.#frames.end([...this.#held, this.#charged(last, usage, serviceTier)])
  }

  fail(error: ApiError, usage: ChargedUsage | null): Buffer {
    return this.#frames.end([errorChunk(error, usage)])
  }

  whole(answer: ChatAnswer, usage: ChargedUsage, events: readonly AnswerEvent[]): Record<string, unknown> {
    const sent = events.findLast((event) => event.type === 'wire')?.sent
    return sent === undefined || Buffer.isBuffer(sent)
      ? new GeminiWriter(this.#identity, this.#request).whole(answer, usage, events)
      : this.#charged({ ...sent, ...reasoned(sent['candidates'], answer) }, usage, answer.serviceTier)
  }

  /** The counts are those that are charged; fields that only the provider knows stay. */
  #charged(chunk: JsonObject, usage: ChargedUsage, tier: string | null): Record<string, unknown> {
    const told = isObject(chunk['usageMetadata']) ? chunk['usageMetadata'] : {}
    // The provider's own word stays where it is; one that stood in a header is told here.
    const isTold = told['trafficType'] !== undefined || told['serviceTier'] !== undefined
    const metadata = { ...told, ...usageMetadata(usage, isTold ? null : tier) }
    return { ...ownedChunk(chunk, this.#identity), usageMetadata: metadata }
  }
}

/** A provider may leave out the reason of the end, without which some clients ask again. */
function reasoned(candidates: unknown, { choices }: ChatAnswer): JsonObject {
  if (!Array.isArray(candidates)) return {}
  return {
    candidates: candidates.map((candidate: unknown, index) =>
      !isObject(candidate) || typeof candidate['finishReason'] === 'string'
        ? candidate
        : { ...candidate, finishReason: finishReasonName(choices[index]?.finish ?? 'stop', null, false) },
    ),
  }
}

/** A chunk with our id and model. */
export function ownedChunk(
  chunk: JsonObject,
  { id, model }: Pick<ChunkIdentity, 'id' | 'model'>,
): Readonly<Record<string, unknown>> {
  return { ...chunk, modelVersion: model, responseId: id }
}
