import { withUnsignedThoughts } from '../../../kinds/chat/thoughts.ts'
import { imagesOverChat } from '../../answers/images-over-chat.ts'
import { chatParameters, NO_PARAMETERS, type Adapter, type AdapterPorts } from '../../ports/adapter.ts'
import type { ChatCall } from '../../ports/call.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../upstream/models.ts'
import { textOf } from '../../wire/raw-json.ts'
import { askChat, sseMessages, type ChatProtocol } from '../../upstream/events.ts'
import { anthropicCompletions } from './completions.ts'
import { fittedBody, anthropicMessages } from './native.ts'
import { claudeLeaves } from '../../models/claude-format.ts'
import { signerOf, traitsOf } from '../../models/claude-traits.ts'
import { blockViewOf } from '../../models/claude-request.ts'
import { AnthropicReader } from './reader.ts'
import { anthropicCredentials, anthropicRequest, meansOf } from './request.ts'

/** Parameters of the Messages protocol, by OpenRouter's names; an endpoint may list fewer. */
const PARAMETERS = chatParameters('top_k', 'tool_choice', 'parallel_tool_calls', 'user')

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

/** Claude refuses thoughts without a signature; some other models refuse a turn without its thought. */
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
