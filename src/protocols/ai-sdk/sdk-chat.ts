import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4File,
  LanguageModelV4FinishReason,
  LanguageModelV4Source,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
} from '@ai-sdk/provider'
import { type AnswerEvent, SILENT, tierEvents } from '../../kinds/answer/event.ts'
import { Progress } from '../../kinds/answer/progress.ts'
import type { FinishReason, UsageReport, UsageSide } from '../../kinds/chat/answer.ts'
import { reasoningWish } from '../answers/reasoning-wish.ts'
import { TokenReader, above0 } from '../answers/token-reader.ts'
import { toolCallId } from '../answers/tool-calls.ts'
import { type Fitted, fittedRequest } from '../openai/provider/quirks.ts'
import { type AttemptFailure, billed, failure } from '../ports/attempt-failure.ts'
import type { AnswerSink, ChatCall, RunningCall } from '../ports/call.ts'
import { type RawJson, objectOf } from '../wire/raw-json.ts'
import { callOptions, traitsOf } from './call-options.ts'
import { type SdkPorts, type SdkProgress, SdkRun, thrownFailure } from './sdk-run.ts'

type Ended = AttemptFailure | (() => void)

/** One chat through a package. */
export function sdkChat(ports: SdkPorts, call: ChatCall, sink: AnswerSink): RunningCall {
  const { endpoint, request } = call
  const answer = new SdkAnswer(call.generationId, !reasoningWish(request.parameters).isHidden)
  return new SdkRun(ports, { call, streaming: request.stream }, sink, async (settings, progress) => {
    const model = await ports.packages.model('language', endpoint, settings)
    const options = callOptions({ ...call, request: sdkFitted(call).request }, await traitsOf(model))
    if (progress.isOver()) return () => undefined
    return request.stream
      ? readStream(model, options, { answer, sink, progress })
      : readWhole(model, options, { answer, sink, progress })
  })
}

/** The request with the service's quirks that a package cannot know, and within the limits of the model. */
export function sdkFitted({ endpoint, request }: Pick<ChatCall, 'endpoint' | 'request'>): Fitted {
  // The package itself decides how thinking and tools are written.
  const dialect = { ...endpoint.dialect, reasoning: null, tools: 'tools' } as const
  const fitted = fittedRequest(request, { ...endpoint, dialect })
  if (dialect.fixed === null) return fitted
  const parameters = { ...fitted.request.parameters, ...dialect.fixed }
  // A parameter of null is not sent.
  const set = Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== null))
  return { ...fitted, request: { ...fitted.request, parameters: set } }
}

interface Reading {
  readonly answer: SdkAnswer
  readonly sink: AnswerSink
  readonly progress: SdkProgress
}

async function readWhole(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  { answer, sink, progress }: Reading,
): Promise<Ended> {
  const { content, response, finishReason, usage, providerMetadata } = await model.doGenerate(options)
  if (!progress.isOver())
    sink.push([
      ...answer.read({ type: 'response-metadata', ...(response?.id === undefined ? {} : { id: response.id }) }),
      ...content.flatMap((part) => answer.read(part)),
      ...tierOf(providerMetadata),
      ...answer.finish(finishReason, usage),
    ])
  return () => sink.end()
}

async function readStream(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  { answer, sink, progress }: Reading,
): Promise<Ended> {
  const { stream } = await model.doStream(options)
  const reader = stream.getReader()
  const made = new Progress()
  while (!progress.isOver()) {
    const { done, value: part } = await reader.read()
    if (progress.isOver()) break
    if (done) return failure('cut', null, 'the stream ended without a finish')
    if (part.type === 'error') return thrownFailure(part.error, true)
    if (part.type === 'finish' && isCut(part.finishReason))
      return billed(failure('cut', null, 'the stream ended without a finish reason'), sdkUsage(part.usage))
    const events = answer.read(part)
    if (events.length === 0) continue
    if (made.isMade(events)) progress.progressed()
    const flowing = sink.push(events)
    if (part.type === 'finish') break
    if (!flowing) await progress.resumed()
  }
  return () => sink.end()
}

/** Whether the provider broke the stream off: a package ends even such a stream with a finish. */
function isCut({ unified, raw }: LanguageModelV4FinishReason): boolean {
  return unified === 'interrupted' || (raw === undefined && (unified === 'other' || unified === 'error'))
}

/** Far more calls than any real answer has: a bound on what a broken upstream makes us hold in memory. */
const CALLS_MAX = 256

/** A part of a stream, or of the content of a plain answer. */
export type SdkPart = LanguageModelV4StreamPart | LanguageModelV4Content

interface SdkToolCall {
  readonly index: number
  /** false = the deltas are not the text of the arguments, which comes with the complete call. */
  readonly streamed: boolean
  said: boolean
}

const FINISHES: Readonly<Record<LanguageModelV4FinishReason['unified'], FinishReason | null>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  error: 'error',
  interrupted: null,
  other: null,
}

/**
 * Turns a package's parts into events. Calls that the provider runs itself are not for the client: they and their
 * results are left out.
 */
export class SdkAnswer {
  readonly #generationId: string
  readonly #showsReasoning: boolean
  /** Calls by the package's id. */
  readonly #calls = new Map<string, SdkToolCall>()
  #said = false

  constructor(generationId: string, showsReasoning: boolean) {
    this.#generationId = generationId
    this.#showsReasoning = showsReasoning
  }

  read(part: SdkPart): readonly AnswerEvent[] {
    switch (part.type) {
      case 'text':
        return this.#text('text', part.text)
      case 'text-delta':
        return this.#text('text', part.delta)
      case 'reasoning':
        return this.#text('reasoning', part.text)
      case 'reasoning-delta':
        return this.#text('reasoning', part.delta)
      case 'tool-input-start':
        return part.providerExecuted === true ? [] : this.#open(part.id, part.toolName, part.inputEncoding !== 'text')
      case 'tool-input-delta':
        return this.#arguments(part.id, part.delta)
      case 'tool-call':
        return part.providerExecuted === true ? [] : this.#call(part)
      case 'file':
        return this.#file(part)
      case 'source':
        return sourceEvents(part)
      case 'response-metadata':
        return [{ type: 'origin', upstreamId: part.id ?? null, systemFingerprint: null }]
      case 'finish':
        return [...tierOf(part.providerMetadata), ...this.finish(part.finishReason, part.usage)]
      default:
        // Boundaries of blocks, pings, parts for the provider's own clients, and parts of newer packages.
        return []
    }
  }

  /** Ends the answer. If the package has no name for the reason, the provider's reason decides. */
  finish(reason: LanguageModelV4FinishReason, rawUsage: unknown): readonly AnswerEvent[] {
    const unified = FINISHES[reason.unified] ?? null
    const finish = this.#calls.size > 0 && unified !== null && unified !== 'length' ? 'tool_calls' : unified
    const usage = sdkUsage(rawUsage)
    return [
      // An answer without content becomes an empty text.
      ...(this.#said ? [] : [{ type: 'text', choice: 0, text: '' } as const]),
      { type: 'finish', choice: 0, native: reason.raw ?? null, ...(finish === null ? {} : { finish }) },
      ...(usage === null ? [] : [{ type: 'usage', usage } as const]),
    ]
  }

  #text(type: 'text' | 'reasoning', text: string): readonly AnswerEvent[] {
    if (text === '') return []
    if (type === 'reasoning' && !this.#showsReasoning) return [SILENT]
    this.#said = true
    return [{ type, choice: 0, text }]
  }

  #open(id: string, name: string, streamed: boolean): readonly AnswerEvent[] {
    if (this.#calls.has(id)) return []
    const index = this.#calls.size
    if (index >= CALLS_MAX) throw new Error('the answer holds more tool calls than any answer has')
    this.#calls.set(id, { index, streamed, said: false })
    this.#said = true
    return [
      { type: 'tool_call', choice: 0, index, id: id === '' ? toolCallId(this.#generationId, 0, index) : id, name },
    ]
  }

  #arguments(id: string, text: string): readonly AnswerEvent[] {
    const call = this.#calls.get(id)
    if (text === '') return []
    if (call === undefined || !call.streamed) return [SILENT]
    call.said = true
    return [{ type: 'tool_arguments', choice: 0, index: call.index, text }]
  }

  /** The rest of a complete call, after what was streamed already. */
  #call({ toolCallId: id, toolName, input }: LanguageModelV4ToolCall): readonly AnswerEvent[] {
    const opened = this.#open(id, toolName, true)
    const call = this.#calls.get(id)
    if (call === undefined || call.said || input === '') return opened
    call.said = true
    return [...opened, { type: 'tool_arguments', choice: 0, index: call.index, text: input }]
  }

  /** Images only: a chat answer has no place for other files. */
  #file({ mediaType, data }: LanguageModelV4File): readonly AnswerEvent[] {
    if (!mediaType.startsWith('image/')) return []
    this.#said = true
    const url =
      data.type === 'url'
        ? data.url.href
        : `data:${mediaType};base64,${typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64')}`
    return [{ type: 'extra', choice: 0, field: 'images', value: [{ type: 'image_url', image_url: { url } }] }]
  }
}

/** Only a source with an address can be cited; the package does not say to which text it belongs. */
function sourceEvents(source: LanguageModelV4Source): readonly AnswerEvent[] {
  if (source.sourceType !== 'url') return []
  const citation = { url: source.url, title: source.title ?? '', start_index: 0, end_index: 0 }
  return [{ type: 'extra', choice: 0, field: 'annotations', value: [{ type: 'url_citation', url_citation: citation }] }]
}

/** Packages report the tier in metadata under their provider's name. */
function tierOf(metadata: unknown): readonly AnswerEvent[] {
  return Object.values(objectOf(metadata) ?? {}).flatMap((own) => tierEvents(objectOf(own)?.['serviceTier']))
}

/**
 * A package's usage as disjoint meters; null = the provider sent none. The input's `total` includes tokens read from
 * and written to a cache, the output's `total` includes reasoning; a package that has only the parts leaves the total
 * out.
 */
export function sdkUsage(raw: unknown): UsageReport | null {
  const usage = objectOf(raw)
  const input = objectOf(usage?.['inputTokens'])
  const output = objectOf(usage?.['outputTokens'])
  if (!counts(input) && !counts(output)) return null
  const tokens = new TokenReader()
  const prompt = totalOf(tokens, 'input', input, ['noCache', 'cacheRead', 'cacheWrite'])
  const completion = totalOf(tokens, 'output', output, ['text', 'reasoning'])
  const cached = Math.min(prompt, tokens.part(input, 'cacheRead'))
  const written = Math.min(prompt - cached, tokens.part(input, 'cacheWrite'))
  const reasoning = Math.min(completion, tokens.part(output, 'reasoning'))
  return tokens.report({
    usage: {
      input: prompt - cached - written,
      output: completion - reasoning,
      ...above0({ cache_read: cached, cache_write: written, reasoning }),
    },
    inputTokens: prompt,
    outputTokens: completion,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: reasoning,
  })
}

function counts(object: RawJson | null): boolean {
  return Object.values(object ?? {}).some((value) => value !== undefined && value !== null)
}

function totalOf(tokens: TokenReader, side: UsageSide, object: RawJson | null, parts: readonly string[]): number {
  const isWhole = (object?.['total'] ?? null) !== null || parts.every((name) => (object?.[name] ?? null) === null)
  return isWhole
    ? tokens.count(side, object, 'total')
    : parts.reduce((total, name) => total + tokens.added(side, object, name), 0)
}
