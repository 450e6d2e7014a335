import { errorBody } from '../../../base/client-protocol.ts'
import type { ApiError } from '../../../base/errors.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, FinishReason, StreamEnd } from '../../../kinds/chat/answer.ts'
import { CandidateParts, type CandidatePart } from './candidate-parts.ts'
import { ChunkFrames } from './frames.ts'
import type { GenerateContentRequest } from './request.ts'
import { usageMetadata } from './usage.ts'

/** Reasons that only this protocol has; they pass unchanged from its own providers. */
const OWN: ReadonlySet<string> = new Set([
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MALFORMED_FUNCTION_CALL',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
  'IMAGE_OTHER',
  'NO_IMAGE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
])
const NAMES: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
  error: 'OTHER',
}

interface Finish {
  readonly index: number
  readonly finish: FinishReason
  readonly native: string | null
}

/** Writes an answer in the form of `generateContent` (clients.md 4). */
export class GeminiWriter implements AnswerWriter {
  readonly #identity: ChunkIdentity
  readonly #showsThoughts: boolean
  readonly #frames: ChunkFrames
  readonly #candidates = new Map<number, CandidateParts>()

  constructor(identity: ChunkIdentity, { framing, showsThoughts }: GenerateContentRequest) {
    this.#identity = identity
    this.#showsThoughts = showsThoughts
    this.#frames = new ChunkFrames(framing)
  }

  write(events: readonly AnswerEvent[]): Buffer {
    for (const event of events) this.#add(event)
    const chunks: Buffer[] = []
    for (const [index, candidate] of this.#candidates) {
      const parts = candidate.take()
      if (parts.length > 0) chunks.push(this.#frames.chunk(this.#body([{ content: content(parts), index }])))
    }
    return Buffer.concat(chunks)
  }

  /** The last chunk has the finish reason and the usage. */
  end({ finishes, serviceTier }: StreamEnd, usage: ChargedUsage): Buffer {
    const candidates = finishes.map((finish) => this.#finished(finish))
    return this.#frames.end([{ ...this.#body(candidates), usageMetadata: usageMetadata(usage, serviceTier) }])
  }

  fail(error: ApiError, usage: ChargedUsage | null): Buffer {
    return this.#frames.end([errorChunk(error, usage)])
  }

  whole(
    { choices, serviceTier }: ChatAnswer,
    usage: ChargedUsage,
    events: readonly AnswerEvent[],
  ): Record<string, unknown> {
    for (const event of events) this.#add(event)
    const candidates = choices.map((choice) => this.#finished(choice))
    return { ...this.#body(candidates), usageMetadata: usageMetadata(usage, serviceTier) }
  }

  #add(event: AnswerEvent): void {
    if (event.type === 'usage' || event.type === 'origin' || event.type === 'wire') return
    if (event.type === 'spliced') throw new Error('An answer in this protocol offers no splice.')
    this.#candidate(event.choice).add(event)
  }

  #candidate(index: number): CandidateParts {
    let candidate = this.#candidates.get(index)
    if (candidate === undefined) {
      candidate = new CandidateParts(this.#showsThoughts)
      this.#candidates.set(index, candidate)
    }
    return candidate
  }

  /** An empty text, because some clients ignore a chunk without parts. */
  #finished({ index, finish, native }: Finish): Record<string, unknown> {
    const candidate = this.#candidate(index)
    candidate.close()
    const parts = candidate.take()
    const { citations, isBroken } = candidate
    return {
      content: content(parts.length === 0 ? [{ text: '' }] : parts),
      finishReason: finishReasonName(finish, native, isBroken),
      index,
      ...(citations.length === 0 ? {} : { groundingMetadata: { groundingChunks: citations } }),
    }
  }

  #body(candidates: readonly unknown[]): Record<string, unknown> {
    return { candidates, modelVersion: this.#identity.model, responseId: this.#identity.id }
  }
}

/** The last chunk of a stream that failed. */
export function errorChunk(error: ApiError, usage: ChargedUsage | null): Record<string, unknown> {
  return { ...errorBody(error, 'gemini', ''), ...(usage === null ? {} : { usageMetadata: usageMetadata(usage) }) }
}

function content(parts: readonly CandidatePart[]): Record<string, unknown> {
  return { parts, role: 'model' }
}

/** `finishReason` of a candidate; `isBroken` = one of its calls could not be shown. */
export function finishReasonName(finish: FinishReason, native: string | null, isBroken: boolean): string {
  if (isBroken && finish !== 'length') return 'MALFORMED_FUNCTION_CALL'
  if (native !== null && OWN.has(native) && (finish === 'content_filter' || finish === 'error')) return native
  return NAMES[finish]
}
