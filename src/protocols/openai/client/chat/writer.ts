import type { ApiError } from '../../../../base/errors.ts'
import type { AnswerEvent } from '../../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, StreamEnd } from '../../../../kinds/chat/answer.ts'
import { renderChatAnswer, streamErrorTail, streamTail, usageBody } from './render.ts'

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
