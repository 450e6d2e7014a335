import type { ApiError } from '../../../../base/errors.ts'
import { type Micro, rubles } from '../../../../base/money.ts'
import type { AnswerEvent } from '../../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, FinishReason, StreamEnd, UsageReport } from '../../../../kinds/chat/answer.ts'

/** The output of a batch: bytes, and a text after them. */
interface Written {
  readonly parts: Buffer[]
  text: string
}

/** Writes the events of an answer as the chunks of a chat stream (wire.md D-3.3). */
export class ChatWriter implements AnswerWriter {
  readonly #identity: ChunkIdentity
  readonly #includeUsage: boolean
  readonly #opened = new Set<number>()
  #head: string | null = null

  /** `includeUsage`: the client reads usage in a separate chunk (wire.md D-3.3). */
  constructor(identity: ChunkIdentity, includeUsage: boolean) {
    this.#identity = identity
    this.#includeUsage = includeUsage
  }

  end(end: StreamEnd, { report, chargedMicro }: ChargedUsage): Buffer {
    return streamTail({
      identity: this.#identity,
      end,
      usage: usageBody(report, chargedMicro),
      includeUsage: this.#includeUsage,
    })
  }

  fail(error: ApiError, usage: ChargedUsage | null): Buffer {
    return streamErrorTail({
      identity: this.#identity,
      error,
      usage: usage === null ? null : usageBody(usage.report, usage.chargedMicro),
    })
  }

  whole(answer: ChatAnswer, { report, chargedMicro }: ChargedUsage): Record<string, unknown> {
    return renderChatAnswer({ identity: this.#identity, answer, usage: usageBody(report, chargedMicro) })
  }

  write(events: readonly AnswerEvent[]): Buffer {
    const out: Written = { parts: [], text: '' }
    for (const event of events) this.#write(event, out)
    if (out.text !== '') out.parts.push(Buffer.from(out.text))
    const [first] = out.parts
    return out.parts.length === 1 && first !== undefined ? first : Buffer.concat(out.parts)
  }

  #write(event: AnswerEvent, out: Written): void {
    switch (event.type) {
      case 'spliced':
        this.#open(0, out)
        if (out.text !== '') out.parts.push(Buffer.from(out.text))
        out.text = ''
        out.parts.push(...event.bytes)
        return
      case 'text':
      case 'reasoning':
      case 'refusal': {
        this.#open(event.choice, out)
        const logprobs = event.logprobs ?? null
        if (event.text !== '' || logprobs !== null)
          this.#chunk(out, event.choice, { [event.type === 'text' ? 'content' : event.type]: event.text }, logprobs)
        return
      }
      case 'tool_call':
        return this.#chunk(out, event.choice, {
          tool_calls: [
            { index: event.index, id: event.id, type: 'function', function: { name: event.name, arguments: '' } },
          ],
        })
      case 'tool_arguments':
        return this.#chunk(out, event.choice, {
          tool_calls: [{ index: event.index, function: { arguments: event.text } }],
        })
      case 'extra':
        return this.#chunk(out, event.choice, { [event.field]: event.value })
      case 'finish':
        return this.#open(event.choice, out)
      case 'item':
      case 'wire':
      case 'usage':
      case 'origin':
    }
  }

  #chunk(out: Written, choice: number, delta: Readonly<Record<string, unknown>>, logprobs: unknown = null): void {
    this.#open(choice, out)
    out.text += chunkText(this.#chunkHead, choice, delta, logprobs)
  }

  /** The first event of a choice sends its role. */
  #open(choice: number, out: Written): void {
    if (this.#opened.has(choice)) return
    this.#opened.add(choice)
    out.text += chunkText(this.#chunkHead, choice, { role: 'assistant', content: '' })
  }

  get #chunkHead(): string {
    this.#head ??= chunkHead(this.#identity)
    return this.#head
  }
}

export interface TextAround {
  readonly before: Buffer
  readonly after: Buffer
}

/** One client chunk of wire.md D-3.3 as SSE; `head` is that of the stream. */
function chunkText(
  head: string,
  index: number,
  delta: Readonly<Record<string, unknown>>,
  logprobs: unknown = null,
): string {
  return `${head}{"index":${index},"delta":${JSON.stringify(delta)},"finish_reason":null,"native_finish_reason":null,"logprobs":${JSON.stringify(logprobs)}}]}\n\n`
}

/** The part of a chunk before its choice, which is constant in a stream. */
function chunkHead({ id, created, model, provider }: ChunkIdentity): string {
  return `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)},"provider":${JSON.stringify(provider)},"choices":[`
}

/** The bytes around the text of an ordinary chunk of content or reasoning, so that an adapter can splice the text. */
export function textAround(identity: ChunkIdentity, field: 'content' | 'reasoning'): TextAround {
  return {
    before: Buffer.from(`${chunkHead(identity)}{"index":0,"delta":{"${field}":"`),
    after: Buffer.from(`"},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}\n\n`),
  }
}

/** The `usage` object of an answer (wire.md 3.1). `cost` and `total_cost` are equal: clients read one or the other. */
export interface UsageBody {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens: number }
  readonly completion_tokens_details: { readonly reasoning_tokens: number }
  readonly cost: number
  readonly total_cost: number
  readonly currency: 'RUB'
}

/** Fields of a message that are sent only if they have content (wire.md D-3.1). */
const OPTIONAL_MESSAGE_FIELDS = ['reasoning', 'reasoning_details', 'tool_calls', 'annotations', 'images', 'audio']
const DONE = 'data: [DONE]\n\n'

export function usageBody(report: UsageReport, chargedMicro: Micro): UsageBody {
  const cost = rubles(chargedMicro)
  return {
    prompt_tokens: report.inputTokens,
    completion_tokens: report.outputTokens,
    total_tokens: report.inputTokens + report.outputTokens,
    prompt_tokens_details: { cached_tokens: report.cachedTokens, cache_write_tokens: report.cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: report.reasoningTokens },
    cost,
    total_cost: cost,
    currency: 'RUB',
  }
}

/** The JSON body of a complete answer. */
export function renderChatAnswer({
  identity,
  answer,
  usage,
}: {
  identity: ChunkIdentity
  answer: ChatAnswer
  usage: UsageBody
}): Record<string, unknown> {
  return {
    id: identity.id,
    object: 'chat.completion',
    created: identity.created,
    model: identity.model,
    provider: identity.provider,
    ...tierField(answer),
    system_fingerprint: answer.systemFingerprint,
    choices: answer.choices.map((choice) => ({
      index: choice.index,
      finish_reason: choice.finish,
      native_finish_reason: choice.native,
      logprobs: choice.logprobs ?? null,
      message: messageBody(choice.message),
    })),
    usage,
  }
}

/** Present only if the provider reports the tier. */
function tierField({ serviceTier }: Pick<StreamEnd, 'serviceTier'>): { readonly service_tier?: string } {
  return serviceTier === null ? {} : { service_tier: serviceTier }
}

function messageBody(message: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const body: Record<string, unknown> = {
    role: 'assistant',
    content: message['content'] ?? null,
    refusal: message['refusal'] ?? null,
  }
  for (const name of OPTIONAL_MESSAGE_FIELDS) {
    const value = message[name]
    const empty = value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
    if (!empty) body[name] = value
  }
  return body
}

/** The chunks of chat, or of completions, which differ in the name of their object and the place of a text. */
export interface ChunkForm {
  readonly object: string
  /** null = no text. */
  readonly said: (text: string | null) => Readonly<Record<string, unknown>>
}

const CHAT_CHUNK: ChunkForm = {
  object: 'chat.completion.chunk',
  said: (text) => ({ delta: text === null ? {} : { content: text } }),
}

/**
 * The last events of a stream (wire.md D-3.3). Without `includeUsage` the usage is in the last finishing chunk, so that
 * a client that indexes `choices[0]` never gets an empty list.
 */
export function streamTail(
  tail: { identity: ChunkIdentity; end: StreamEnd; usage: UsageBody; includeUsage: boolean },
  form = CHAT_CHUNK,
): Buffer {
  const { identity, end, usage, includeUsage } = tail
  let text = ''
  for (const [position, { index, finish, native }] of end.finishes.entries()) {
    const finished = { ...chunk(form, identity, [choice(form, index, null, finish, native)]), ...tierField(end) }
    const last = position === end.finishes.length - 1
    text += event(last && !includeUsage ? { ...finished, usage } : finished)
  }
  if (includeUsage) text += event({ ...chunk(form, identity, []), ...tierField(end), usage })
  return Buffer.from(text + DONE)
}

/**
 * The end of a stream that failed after its first byte: exactly three events (wire.md D-3.4), because no single form of
 * the error reaches all clients. `usage` is the charge; null = it is not known.
 */
export function streamErrorTail(
  tail: { identity: ChunkIdentity; error: ApiError; usage: UsageBody | null },
  form = CHAT_CHUNK,
): Buffer {
  const { identity, usage } = tail
  const { error } = tail.error.body()
  const failed = chunk(form, identity, [choice(form, 0, '', 'error', 'error')])
  return Buffer.from(`${event({ ...failed, error, ...(usage === null ? {} : { usage }) })}${event({ error })}${DONE}`)
}

function choice(
  { said }: ChunkForm,
  index: number,
  text: string | null,
  finish: FinishReason,
  native: string | null,
): Record<string, unknown> {
  return { index, ...said(text), finish_reason: finish, native_finish_reason: native, logprobs: null }
}

function chunk(
  { object }: ChunkForm,
  { id, created, model, provider }: ChunkIdentity,
  choices: readonly unknown[],
): Record<string, unknown> {
  return { id, object, created, model, provider, choices }
}

function event(body: unknown): string {
  return `data: ${JSON.stringify(body)}\n\n`
}
