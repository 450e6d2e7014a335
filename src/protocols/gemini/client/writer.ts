import { errorBody } from '../../../base/client-protocol.ts'
import type { ApiError } from '../../../base/errors.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, FinishReason, StreamEnd } from '../../../kinds/chat/answer.ts'
import type { GenerateContentRequest } from './request.ts'
import { rubles } from '../../../base/money.ts'
import { toldTier } from '../../../tables/service-tier-table.ts'
import { isObject, wordOf } from '../../../kinds/fields/body-fields.ts'
import type { JsonObject } from '../../../base/json-text.ts'
import { plainDetail } from '../../../kinds/chat/thoughts.ts'
import { GrownText } from '../../../kinds/answer/grown-text.ts'
import { areSigned, signatureOf, thoughtSignature } from '../signed-parts.ts'

/** Reasons that only this protocol has; those of its own providers pass unchanged. */
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

type CandidatePart = Readonly<Record<string, unknown>>

type ChoiceEvent = Exclude<AnswerEvent, { readonly type: 'spliced' | 'usage' | 'origin' | 'wire' }>

interface Call {
  readonly id: string
  readonly name: string
  readonly args: GrownText
}

const DATA_URL = /^data:([^;,]+)(?:;[^,]*)?;base64,(.*)$/s
const PCM = 'audio/L16;codec=pcm;rate=24000'

/** How an answer is written. */
type AnswerForm = Pick<GenerateContentRequest, 'framing' | 'showsThoughts'>

/** Writes an answer in the form of `generateContent` (clients.md 4). */
export class GeminiWriter implements AnswerWriter {
  readonly #identity: ChunkIdentity
  readonly #showsThoughts: boolean
  readonly #frames: ChunkFrames
  readonly #candidates = new Map<number, CandidateParts>()

  constructor(identity: ChunkIdentity, { framing, showsThoughts }: AnswerForm) {
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

  /** The last chunk of a candidate. It has an empty text, because some clients ignore a chunk without parts. */
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

/** The `finishReason` of a candidate; `isBroken` = one of its calls could not be shown. */
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

  /** The bytes of a chunk that is already JSON. */
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

/** The charge, as fields next to the counts. */
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
 * Passes on the answer of a provider of the protocol (clients.md D-14.2). The id and the model are ours, and the last
 * chunks wait for the charge.
 */
export class UnfilteredGemini implements AnswerWriter {
  readonly #identity: ChunkIdentity
  readonly #form: AnswerForm
  readonly #frames: ChunkFrames
  #held: JsonObject[] = []

  constructor(identity: ChunkIdentity, { framing, showsThoughts }: AnswerForm) {
    this.#identity = identity
    this.#form = { framing, showsThoughts }
    this.#frames = new ChunkFrames(framing)
  }

  write(events: readonly AnswerEvent[]): Buffer {
    const out: Buffer[] = []
    for (const event of events) {
      if (event.type !== 'wire') continue
      const { sent } = event
      if (!Buffer.isBuffer(sent)) this.#held.push(sent)
      else {
        // Another chunk follows, so the held chunk was not the last one.
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
      ? new GeminiWriter(this.#identity, this.#form).whole(answer, usage, events)
      : this.#charged({ ...sent, ...reasoned(sent['candidates'], answer) }, usage, answer.serviceTier)
  }

  /** The counts become those that are charged; fields that only the provider knows stay. */
  #charged(chunk: JsonObject, usage: ChargedUsage, tier: string | null): Record<string, unknown> {
    const told = isObject(chunk['usageMetadata']) ? chunk['usageMetadata'] : {}
    // The provider's own word for the tier stays where it is; a tier that came in a header is added.
    const isTold = told['trafficType'] !== undefined || told['serviceTier'] !== undefined
    const metadata = { ...told, ...usageMetadata(usage, isTold ? null : tier) }
    return { ...ownedChunk(chunk, this.#identity), usageMetadata: metadata }
  }
}

/** Adds the reason of the end if the provider left it out, since some clients ask again without it. */
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

/** Builds the parts of one candidate from an answer's events. A call is one part, so it waits until it is complete. */
export class CandidateParts {
  readonly #showsThoughts: boolean
  #parts: CandidatePart[] = []
  #calls: Call[] = []
  readonly #signatures = new Map<string, string>()
  /** Reasoning details of another provider. */
  #details: unknown[] = []
  /** Thoughts that the client does not want to see. */
  #hidden = ''
  readonly #citations: unknown[] = []
  #audioType = PCM
  #isBroken = false

  constructor(showsThoughts: boolean) {
    this.#showsThoughts = showsThoughts
  }

  /** Whether the arguments of a call were no JSON object: the call is left out, since it must not be run. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /** The sources of the answer. */
  get citations(): readonly unknown[] {
    return this.#citations
  }

  add(event: ChoiceEvent): void {
    switch (event.type) {
      case 'text':
      case 'refusal':
        return this.#text(event.text, {})
      case 'reasoning':
        if (this.#showsThoughts) this.#text(event.text, { thought: true })
        else this.#hidden += event.text
        return
      case 'tool_call':
        this.#calls[event.index] = { id: event.id, name: event.name, args: new GrownText() }
        return
      case 'tool_arguments': {
        const call = this.#calls[event.index]
        if (call !== undefined) call.args.add(event.text)
        return
      }
      case 'extra':
        return this.#extra(event.field, event.value)
      case 'finish':
        return this.close()
      case 'item':
    }
  }

  /** Takes the complete parts; each is returned once. */
  take(): readonly CandidatePart[] {
    const parts = this.#parts
    this.#parts = []
    return parts
  }

  /** The answer has ended, so parts that wait are complete. */
  close(): void {
    const calls = this.#calls.filter((call) => call !== undefined)
    // Some conversations cannot be continued without their thoughts, which the client was not shown.
    const isHidden = this.#hidden !== '' && this.#signatures.size === 0
    if (isHidden && !areSigned(this.#details)) this.#details = [plainDetail(this.#hidden)]
    const foreign = isHidden || areSigned(this.#details) ? thoughtSignature(this.#details) : null
    this.#details = []
    this.#hidden = ''
    this.#calls = []
    if (foreign !== null && calls.length === 0) this.#parts.push({ text: '', thoughtSignature: foreign })
    for (const [index, { id, name, args: given }] of calls.entries()) {
      const args = argsOf(given.toString())
      if (args === null) {
        this.#isBroken = true
        continue
      }
      const signature = this.#signatures.get(id) ?? (index === 0 ? foreign : null)
      this.#parts.push({
        functionCall: { id, name, args },
        ...(signature === null ? {} : { thoughtSignature: signature }),
      })
    }
  }

  #text(text: string, more: CandidatePart): void {
    if (text === '') return
    const last = this.#parts.at(-1)
    const isSame =
      last !== undefined &&
      typeof last['text'] === 'string' &&
      last['thought'] === more['thought'] &&
      last['thoughtSignature'] === undefined
    if (isSame) this.#parts.splice(-1, 1, { ...last, text: wordOf(last['text']) + text })
    else this.#parts.push({ text, ...more })
  }

  #extra(field: string, value: unknown): void {
    if (field === 'audio' && isObject(value)) return this.#audio(value)
    if (!Array.isArray(value)) return
    if (field === 'images') for (const part of value.flatMap(imagePart)) this.#parts.push(part)
    else if (field === 'annotations') for (const source of value.flatMap(citation)) this.#citations.push(source)
    else if (field === 'reasoning_details') for (const detail of value) this.#detail(detail)
  }

  /** In a stream, the signature of a text comes after the text, so it gets a text part that is empty. */
  #detail(detail: unknown): void {
    const signature = signatureOf(detail)
    if (signature === null) {
      this.#details.push(detail)
      return
    }
    if (signature.callId !== null) {
      this.#signatures.set(signature.callId, signature.data)
      return
    }
    const last = this.#parts.at(-1)
    const isText =
      last !== undefined &&
      typeof last['text'] === 'string' &&
      last['thought'] !== true &&
      last['thoughtSignature'] === undefined
    if (isText) this.#parts.splice(-1, 1, { ...last, thoughtSignature: signature.data })
    else this.#parts.push({ text: '', thoughtSignature: signature.data })
  }

  /** Sound comes in pieces, each of whole base64 groups. */
  #audio(value: Readonly<Record<string, unknown>>): void {
    const { data, format, transcript } = value
    if (typeof format === 'string' && format.includes('/')) this.#audioType = format
    if (typeof transcript === 'string') this.#text(transcript, {})
    if (typeof data !== 'string' || data === '') return
    const last = this.#parts.at(-1)?.['inlineData']
    const joins =
      isObject(last) && last['mimeType'] === this.#audioType && typeof last['data'] === 'string' ? last['data'] : null
    const part = { inlineData: { mimeType: this.#audioType, data: (joins ?? '') + data } }
    if (joins === null) this.#parts.push(part)
    else this.#parts.splice(-1, 1, part)
  }
}

/** null = no JSON object. A function without parameters may be called without arguments; some models then send null. */
function argsOf(text: string): Readonly<Record<string, unknown>> | null {
  if (text.trim() === '') return {}
  try {
    const args: unknown = JSON.parse(text)
    if (args === null) return {}
    return isObject(args) ? args : null
  } catch {
    return null
  }
}

function imagePart(image: unknown): readonly CandidatePart[] {
  const address = isObject(image) ? image['image_url'] : null
  const url = isObject(address) ? address['url'] : null
  if (typeof url !== 'string') return []
  const inline = DATA_URL.exec(url)
  return inline === null
    ? [{ fileData: { mimeType: 'image/png', fileUri: url } }]
    : [{ inlineData: { mimeType: inline[1], data: inline[2] } }]
}

function citation(annotation: unknown): readonly unknown[] {
  const cited = isObject(annotation) ? annotation['url_citation'] : null
  return isObject(cited) && typeof cited['url'] === 'string'
    ? [{ web: { uri: cited['url'], ...(typeof cited['title'] === 'string' ? { title: cited['title'] } : {}) } }]
    : []
}
