import { errorBody } from '../../../base/client-protocol.ts'
import type { ApiError } from '../../../base/errors.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, FinishReason, StreamEnd } from '../../../kinds/chat/answer.ts'
import { CandidateParts, type CandidatePart } from './candidate-parts.ts'
import type { GenerateContentRequest } from './request.ts'
import { rubles } from '../../../base/money.ts'
import { toldTier } from '../../../tables/service-tier-table.ts'
import { isObject } from '../../../kinds/fields/body-fields.ts'
import type { JsonObject } from '../../../base/json-text.ts'

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
function errorChunk(error: ApiError, usage: ChargedUsage | null): Record<string, unknown> {
  return { ...errorBody(error, 'gemini', ''), ...(usage === null ? {} : { usageMetadata: usageMetadata(usage) }) }
}

function content(parts: readonly CandidatePart[]): Record<string, unknown> {
  return { parts, role: 'model' }
}

/** `finishReason` of a candidate; `isBroken` = one of its calls could not be shown. */
function finishReasonName(finish: FinishReason, native: string | null, isBroken: boolean): string {
  if (isBroken && finish !== 'length') return 'MALFORMED_FUNCTION_CALL'
  if (native !== null && OWN.has(native) && (finish === 'content_filter' || finish === 'error')) return native
  return NAMES[finish]
}

const NOTHING = Buffer.alloc(0)

/** Frames the chunks of a stream: as server-sent events, or as items of one JSON array. */
class ChunkFrames {
  readonly #isArray: boolean
  #before: string

  constructor(framing: 'sse' | 'array') {
    this.#isArray = framing === 'array'
    this.#before = this.#isArray ? '[' : 'data: '
  }

  chunk(body: unknown): Buffer {
    return Buffer.from(this.#head() + JSON.stringify(body) + this.#after)
  }

  /** A chunk that is JSON already. */
  raw(json: Buffer): Buffer {
    return Buffer.concat([Buffer.from(this.#head()), json, Buffer.from(this.#after)])
  }

  /** The last chunks and the end of the stream. */
  end(bodies: readonly unknown[]): Buffer {
    const chunks = bodies.map((body) => this.chunk(body))
    return Buffer.concat([...chunks, this.#isArray ? Buffer.from(']') : NOTHING])
  }

  get #after(): string {
    return this.#isArray ? '' : '\n\n'
  }

  #head(): string {
    const head = this.#before
    if (this.#isArray) this.#before = ',\r\n'
    return head
  }
}

/** The charge, beside the counts. */
function costOf({ chargedMicro }: ChargedUsage): Readonly<Record<string, unknown>> {
  return { cost: rubles(chargedMicro), currency: 'RUB' }
}

/** `usageMetadata`: prompt tokens include cached ones, candidate tokens exclude thoughts. */
export function usageMetadata(
  usage: ChargedUsage,
  serviceTier: string | null = null,
): Readonly<Record<string, unknown>> {
  const { inputTokens, outputTokens, cachedTokens, reasoningTokens } = usage.report
  const thoughts = Math.min(outputTokens, reasoningTokens)
  return {
    promptTokenCount: inputTokens,
    ...(cachedTokens === 0 ? {} : { cachedContentTokenCount: cachedTokens }),
    candidatesTokenCount: outputTokens - thoughts,
    ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
    totalTokenCount: inputTokens + outputTokens,
    ...(serviceTier === null ? {} : { trafficType: toldTier('gemini', serviceTier) }),
    ...costOf(usage),
  }
}

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
