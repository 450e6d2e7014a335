import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { JsonBytes } from '../../../base/json-text.ts'
import { SAMPLING_PARAMETERS } from '../../../tables/parameter-table.ts'
import type { Adapter } from '../../ports/adapter.ts'
import { failure, type AttemptFailure } from '../../ports/attempt-failure.ts'
import { takesOf, type CompletionsCall, type JsonRequest } from '../../ports/call.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { askCompletions, sseMessages, type EventReader } from '../../upstream/events.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { isErrorBody } from '../../wire/error-body.ts'
import { OpenaiReader } from './reader.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'

const PATH = '/completions'
/** Parameters with the same names in completions and chat. */
const SHARED = [...SAMPLING_PARAMETERS, 'logit_bias', 'user']

/** OpenAI's legacy completions and every dialect of them. */
export function openaiCompletions(transport: Transport): NonNullable<Adapter['completions']> {
  return askCompletions(transport, true, {
    request: requestOf,
    reader: ({ request, prompts }) => new CompletionsReader(request.chat.n * prompts.length),
    decoder: sseMessages,
  })
}

function requestOf({ endpoint, apiKey, request, prompts, sendMaxTokens }: CompletionsCall): JsonRequest {
  const { chat, suffix, echo, logprobs, bestOf } = request
  const { upstreamModel, provider } = endpoint
  const takes = takesOf(endpoint)
  const body: Record<string, unknown> = { model: upstreamModel, prompt: prompts.length === 1 ? prompts[0] : prompts }
  if (sendMaxTokens !== null) body['max_tokens'] = sendMaxTokens
  if (chat.n > 1) body['n'] = chat.n
  if (chat.stream) body['stream'] = true
  if (chat.stream && provider.dialect.streamUsage) body['stream_options'] = { include_usage: true }
  for (const name of SHARED) if (chat.parameters[name] !== undefined && takes(name)) body[name] = chat.parameters[name]
  if (suffix !== null) body['suffix'] = suffix
  if (echo) body['echo'] = true
  if (logprobs !== null && takes('logprobs')) body['logprobs'] = logprobs
  if (bestOf !== null) body['best_of'] = bestOf
  return { path: PATH + provider.dialect.query, body, headers: keyHeaders(provider.dialect, apiKey) }
}

/** Reads one answer of the completions protocol as one of chat. */
class CompletionsReader implements EventReader {
  readonly #chat: OpenaiReader

  constructor(choices: number) {
    this.#chat = new OpenaiReader({ generationId: '', sellsSearch: false, choices, splice: null })
  }

  get state(): AnswerState {
    return this.#chat.state
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const chunk = objectOf(parseJson(data))
    return chunk === null ? this.#chat.message(data) : this.#chat.read(asChat(chunk))
  }

  ended(): AttemptFailure | null {
    return this.#chat.ended()
  }

  whole(body: unknown, logprobs?: readonly JsonBytes[]): readonly AnswerEvent[] | AttemptFailure {
    const answer = objectOf(body)
    if (answer === null || (!isErrorBody(answer) && !Array.isArray(answer['choices'])))
      return failure('garbage', null, 'the answer is not a completion')
    return this.#chat.whole(asChat(answer), logprobs)
  }
}

function asChat(answer: RawJson): RawJson {
  const choices = listOf(answer['choices']).map((raw, position) => {
    const { index = null, text, ...choice } = objectOf(raw) ?? {}
    return { ...choice, index: index ?? position, message: { content: textOf(text) ?? '' } }
  })
  return { ...answer, choices }
}
