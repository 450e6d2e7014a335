import { imagesOverChat } from '../answers/images-over-chat.ts'
import { chatParameters, NO_PARAMETERS, type Adapter, type AdapterPorts } from '../../protocols/ports/adapter.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../protocols/upstream/models.ts'
import { textOf } from '../../protocols/wire/raw-json.ts'
import { askChat, sseMessages, type ChatProtocol } from '../../protocols/upstream/events.ts'
import { anthropicCompletions } from '../../protocols/anthropic/provider/completions.ts'
import { traitsOf } from './model-traits.ts'
import { anthropicMessages } from './native.ts'
import { AnthropicReader } from '../../protocols/anthropic/provider/reader.ts'
import { anthropicCredentials, anthropicRequest, askedFormat } from './request.ts'
import { hidesReasoning } from './thinking.ts'

/** Parameters of the Messages protocol, by OpenRouter's names; an endpoint may list fewer. */
const PARAMETERS = chatParameters('top_k', 'tool_choice', 'parallel_tool_calls', 'user')

/** Anthropic's Messages protocol, which other providers speak too. */
export function createAnthropic({ transport, files, jobs, now }: AdapterPorts): Adapter {
  const chat = askChat(anthropicProtocol(now), transport)
  return {
    name: 'anthropic',
    parameters: { ...NO_PARAMETERS, chat: PARAMETERS },
    chat,
    sendsReasoning: ({ upstreamModel }) => traitsOf(upstreamModel).thinking !== 'none',
    chatImages: imagesOverChat(chat, files),
    messages: anthropicMessages(transport, now),
    completions: anthropicCompletions(transport, now),
    models: askModels(ANTHROPIC_MODELS, { jobs, now }),
  }
}

const ANTHROPIC_MODELS: ModelListProtocol = {
  request: (_provider, apiKey) => ({ path: '/models?limit=1000', headers: anthropicCredentials(apiKey) }),
  entries: entriesIn('data'),
  model: (entry) => listedModel(entry, textOf(entry['id'])),
}

export function anthropicProtocol(now: () => number): ChatProtocol {
  return {
    request: anthropicRequest,
    reader: (call) => {
      const format = askedFormat(call)
      const answerTool = format.kind === 'tool' ? format.tool.name : null
      return new AnthropicReader(
        { generationId: call.generationId, answerTool, hidesReasoning: hidesReasoning(call.request.parameters) },
        now,
      )
    },
    decoder: sseMessages,
  }
}
