import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { Adapter } from '../../ports/adapter.ts'
import { failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import { type CompletionsCall, type JsonRequest, refuseSeveral } from '../../ports/call.ts'
import { askCompletions, sseMessages, type EventReader } from '../../upstream/events.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { anthropicCredentials } from './request.ts'
import { eventFailure } from '../../wire/upstream-error.ts'

const PATH = '/complete'
const MAX_TOKENS_DEFAULT = 2_048
const STOP = '\n\nHuman:'
const NUMBERS = ['temperature', 'top_p', 'top_k']

/** Anthropic's text completions, the only protocol of its oldest models. They report no usage: we count it. */
export function anthropicCompletions(transport: Transport): NonNullable<Adapter['completions']> {
  return askCompletions(transport, false, {
    request: requestOf,
    reader: () => new CompletionReader(),
    decoder: sseMessages,
  })
}

function requestOf({ endpoint, apiKey, request, prompts, sendMaxTokens }: CompletionsCall): JsonRequest {
  const { chat } = request
  refuseSeveral(chat)
  const { stop } = chat.parameters
  const [prompt = ''] = prompts
  const body: Record<string, unknown> = {
    model: endpoint.upstreamModel,
    // The protocol requires this form of conversation.
    prompt: `${STOP} ${prompt}\n\nAssistant:`,
    max_tokens_to_sample: sendMaxTokens ?? endpoint.maxCompletionTokens ?? MAX_TOKENS_DEFAULT,
    stop_sequences: [STOP, ...(Array.isArray(stop) ? stop : stop === undefined ? [] : [stop])],
    stream: chat.stream,
  }
  for (const name of NUMBERS) if (chat.parameters[name] !== undefined) body[name] = chat.parameters[name]
  return {
    path: PATH,
    body,
    headers: anthropicCredentials(apiKey),
  }
}

class CompletionReader implements EventReader {
  #named = false
  #done = false

  get state(): AnswerState {
    return this.#done ? 'done' : 'open'
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const event = objectOf(parseJson(data))
    if (event === null) return garbage('not a JSON object', data)
    return event['type'] === 'ping' ? [] : this.#read(event)
  }

  ended(): AttemptFailure | null {
    return this.#done ? null : failure(this.#named ? 'cut' : 'garbage', null, 'the stream ended without a stop_reason')
  }

  whole(body: unknown): readonly AnswerEvent[] | AttemptFailure {
    const answer = objectOf(body)
    if (answer === null) return failure('garbage', null, 'the answer is not a JSON object')
    const read = this.#read(answer)
    return 'reason' in read ? read : (this.ended() ?? read)
  }

  #read(event: RawJson): readonly AnswerEvent[] | AttemptFailure {
    if (event['type'] === 'error') return eventFailure(event)
    const events: AnswerEvent[] = []
    const upstreamId = textOf(event['id'])
    if (!this.#named) events.push({ type: 'origin', upstreamId, systemFingerprint: null })
    this.#named = true
    events.push({ type: 'text', choice: 0, text: textOf(event['completion']) ?? '' })
    const native = textOf(event['stop_reason']) || null
    if (native === null) return events
    this.#done = true
    return [...events, { type: 'finish', choice: 0, native }]
  }
}
