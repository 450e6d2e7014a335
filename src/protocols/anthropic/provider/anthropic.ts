import { withUnsignedThoughts } from '../../../kinds/chat/thoughts.ts'
import { imagesOverChat } from '../../answers/images-over-chat.ts'
import { chatParameters, NO_PARAMETERS, type Adapter, type AdapterPorts } from '../../ports/adapter.ts'
import { type ChatCall, type CompletionsCall, type JsonRequest, refuseSeveral } from '../../ports/call.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../upstream/models.ts'
import { textOf, objectOf, parseJson, type RawJson } from '../../wire/raw-json.ts'
import { askChat, sseMessages, type ChatProtocol, askCompletions, type EventReader } from '../../upstream/events.ts'
import { fittedBody, anthropicMessages } from './native.ts'
import { claudeLeaves } from '../../models/claude-format.ts'
import { signerOf, traitsOf } from '../../models/claude-traits.ts'
import { blockViewOf } from '../../models/claude-request.ts'
import { AnthropicReader } from './reader.ts'
import { anthropicCredentials, anthropicRequest, meansOf } from './request.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import type { AnswerState } from '../../upstream/response.ts'
import type { Transport } from '../../wire/transport.ts'
import { eventFailure } from '../../wire/upstream-error.ts'

/** Parameters of the Messages protocol, by OpenRouter's names; an endpoint may list fewer. */
const PARAMETERS = chatParameters('top_k', 'tool_choice', 'parallel_tool_calls', 'user')
const PATH = '/complete'
const MAX_TOKENS_DEFAULT = 2_048
const STOP = '\n\nHuman:'
const NUMBERS = ['temperature', 'top_p', 'top_k']

/** Anthropic's Messages protocol, which other providers speak too. */
export function createAnthropic({ transport, files, jobs }: AdapterPorts): Adapter {
  const ask = askChat(anthropicProtocol, transport)
  const chat: NonNullable<Adapter['chat']> = (call, sink) => ask(withThoughts(call), sink)
  return {
    name: 'anthropic',
    parameters: { ...NO_PARAMETERS, chat: PARAMETERS },
    chat,
    leaves: ({ upstreamModel }, request) => {
      const traits = traitsOf(upstreamModel)
      return claudeLeaves(request, traits, meansOf(traits))
    },
    chatImages: imagesOverChat(chat, files),
    messages: anthropicMessages(transport),
    messagesFit: ({ upstreamModel }, body) => fittedBody(body, upstreamModel),
    messagesTraits: (endpoint) => ({
      signer: signerOf(endpoint),
      cacheMin: traitsOf(endpoint.upstreamModel).cacheMin,
    }),
    completions: anthropicCompletions(transport),
    models: askModels(ANTHROPIC_MODELS, jobs),
  }
}

/**
 * The call with thoughts in the form that the model wants. Claude refuses thoughts without a signature; some other
 * models refuse a turn without its thought.
 */
function withThoughts(call: ChatCall): ChatCall {
  const { endpoint, request } = call
  if ((endpoint.dialect.reasoningEcho ?? 'none') === 'none') return call
  return { ...call, request: { ...request, messages: withUnsignedThoughts(request.messages) } }
}

const ANTHROPIC_MODELS: ModelListProtocol = {
  request: (_provider, apiKey) => ({ path: '/models?limit=1000', headers: anthropicCredentials(apiKey) }),
  entries: entriesIn('data'),
  model: (entry) => listedModel(entry, textOf(entry['id'])),
}

export const anthropicProtocol: ChatProtocol = {
  request: anthropicRequest,
  reader: (call) => new AnthropicReader(blockViewOf(call, meansOf(traitsOf(call.endpoint.upstreamModel)))),
  decoder: sseMessages,
}

/** Anthropic's text completions, the only protocol of its oldest models. They report no usage, so we count it. */
function anthropicCompletions(transport: Transport): NonNullable<Adapter['completions']> {
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
    // The protocol requires a conversation in this form.
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
