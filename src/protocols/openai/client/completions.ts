import type { ApiError } from '../../../base/errors.ts'
import {
  anything,
  either,
  flag,
  list,
  maybe,
  needed,
  nullable,
  object,
  only,
  readBy,
  text,
  whole,
} from '../../../base/schema.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, FinishReason, StreamEnd } from '../../../kinds/chat/answer.ts'
import type { CompletionsRequest } from '../../../kinds/completions.ts'
import { bodyObject, invalidInput } from '../../../kinds/fields/body-fields.ts'
import { readPaidBody } from '../../../kinds/fields/paid-body.ts'
import { OPTIONAL_MODEL, TokenUsage } from '../../../kinds/fields/routed-request.ts'
import { parseChat } from './chat/call.ts'
import { streamErrorTail, streamTail, usageBody, type ChunkForm } from './chat/writer.ts'
import { SHARED } from './chat/schema.ts'

const PROMPTS_MAX = 20
const FILLED = text('', { minLength: 1 })
const NATIVE = 'Only where it is served natively.'
/** Fields that a chat does not have. */
const OWN = object({
  prompt: needed(
    readBy(either(FILLED, list(FILLED, '', { minItems: 1, maxItems: PROMPTS_MAX })), promptsOf),
    'missing_prompt',
    'empty text',
    'empty list',
  ),
  suffix: maybe(text(NATIVE)),
  echo: maybe(flag(NATIVE)),
  logprobs: maybe(whole(NATIVE, { minimum: 0, maximum: 5 })),
  best_of: maybe(whole(`From \`n\`. ${NATIVE}`, { minimum: 1, maximum: 20 })),
})
/** Every field of a chat that completions have too; they have no messages, tools or formats. */
const CHAT_FIELDS = ['model', 'session_id', ...Object.keys(SHARED)]

/** `POST /v1/completions` (wire.md D-2.5); `best_of` is at least `n`. */
export const CompletionsBody = object({ model: OPTIONAL_MODEL, ...OWN.fields, ...SHARED })

export const CompletionsAnswer = object({
  id: text(),
  object: only('text_completion'),
  created: whole('Unix seconds.'),
  model: text(),
  provider: text(),
  choices: list(
    object({
      index: whole('Counts through the prompts.'),
      text: text(),
      finish_reason: nullable(text()),
      native_finish_reason: nullable(text()),
      logprobs: anything(),
    }),
  ),
  usage: TokenUsage,
})

export function parseCompletions(json: unknown): CompletionsRequest {
  const body = bodyObject(json)
  const { prompt: prompts, best_of: bestOf, ...own } = readPaidBody(OWN, body)
  const longest = prompts.reduce((left, right) => (Buffer.byteLength(right) > Buffer.byteLength(left) ? right : left))
  const fields = CHAT_FIELDS.filter((name) => Object.hasOwn(body, name)).map((name) => [name, body[name]])
  const chat = parseChat({ ...Object.fromEntries(fields), prompt: longest })
  if (bestOf && bestOf < chat.n) throw invalidInput('best_of', `must be at least n (${chat.n})`)
  return {
    prompts,
    chat,
    suffix: own.suffix ?? null,
    echo: own.echo ?? false,
    logprobs: own.logprobs ?? null,
    bestOf: bestOf ?? null,
  }
}

function promptsOf(prompt: unknown, path: string): readonly string[] {
  if (typeof prompt === 'string') return [prompt]
  const refusal = invalidInput(path, `must be a string or an array of 1 to ${PROMPTS_MAX} non-empty strings`)
  if (!Array.isArray(prompt) || prompt.length > PROMPTS_MAX) throw refusal
  return prompt.map((one: unknown) => {
    if (typeof one !== 'string' || one === '') throw refusal
    return one
  })
}

const TEXT_CHUNK: ChunkForm = { object: 'text_completion', said: (text) => ({ text: text ?? '' }) }

interface Choice {
  readonly index: number
  readonly text: string
  readonly finish_reason: FinishReason | null
  readonly native_finish_reason: string | null
  readonly logprobs: unknown
}

/**
 * Writes an answer as legacy completions (wire.md D-2.5): a text for each choice. There is no place for reasoning and
 * tool calls; a refusal becomes text.
 */
export class CompletionsWriter implements AnswerWriter {
  readonly #identity: ChunkIdentity
  readonly #includeUsage: boolean

  constructor(identity: ChunkIdentity, includeUsage: boolean) {
    this.#identity = identity
    this.#includeUsage = includeUsage
  }

  write(events: readonly AnswerEvent[]): Buffer {
    let bytes = ''
    for (const event of events) {
      if (event.type !== 'text' && event.type !== 'refusal') continue
      const logprobs = event.logprobs ?? null
      if (event.text !== '' || logprobs !== null)
        bytes += this.#event([
          { index: event.choice, text: event.text, finish_reason: null, native_finish_reason: null, logprobs },
        ])
    }
    return Buffer.from(bytes)
  }

  end(end: StreamEnd, { report, chargedMicro }: ChargedUsage): Buffer {
    const tail = { identity: this.#identity, end: { ...end, serviceTier: null }, includeUsage: this.#includeUsage }
    return streamTail({ ...tail, usage: usageBody(report, chargedMicro) }, TEXT_CHUNK)
  }

  fail(error: ApiError, charged: ChargedUsage | null): Buffer {
    const usage = charged === null ? null : usageBody(charged.report, charged.chargedMicro)
    return streamErrorTail({ identity: this.#identity, error, usage }, TEXT_CHUNK)
  }

  whole(answer: ChatAnswer, { report, chargedMicro }: ChargedUsage): Record<string, unknown> {
    const choices = answer.choices.map(({ index, finish, native, message, logprobs }): Choice => ({
      index,
      text: textOf(message),
      finish_reason: finish,
      native_finish_reason: native,
      logprobs: logprobs ?? null,
    }))
    return { ...this.#head(), choices, usage: usageBody(report, chargedMicro) }
  }

  #event(choices: readonly Choice[]): string {
    return `data: ${JSON.stringify({ ...this.#head(), choices })}\n\n`
  }

  #head(): Record<string, unknown> {
    const { id, created, model, provider } = this.#identity
    return { id, object: TEXT_CHUNK.object, created, model, provider }
  }
}

function textOf(message: Readonly<Record<string, unknown>>): string {
  const { content, refusal } = message
  return (typeof content === 'string' ? content : '') + (typeof refusal === 'string' ? refusal : '')
}
