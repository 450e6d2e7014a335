import { imagesOverChat } from '../answers/images-over-chat.ts'
import { reasoningWish } from '../answers/reasoning-wish.ts'
import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import { askEmbeddings } from '../upstream/embeddings.ts'
import { askChat, askEvents, type ChatProtocol } from '../upstream/events.ts'
import { NdjsonDecoder } from '../wire/ndjson-decoder.ts'
import { ollamaEmbed } from './embed.ts'
import { OllamaReader } from './reader.ts'
import { generateRequest, ollamaRequest } from './request.ts'

/** Parameters of Ollama's chat protocol, by OpenRouter's names; an endpoint may list fewer. */
const PARAMETERS = [
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'seed',
  'stop',
  'tools',
  'response_format',
  'structured_outputs',
  'reasoning',
  'reasoning_effort',
  'include_reasoning',
]

/** Ollama's own chat and embed, and its `/api/generate` for completions. */
export function createOllama({ transport, files, now }: AdapterPorts): Adapter {
  const protocol = ollamaProtocol(now)
  const chat = askChat(protocol, transport)
  return {
    name: 'ollama',
    parameters: { ...NO_PARAMETERS, chat: PARAMETERS, embeddings: ['dimensions'] },
    chat,
    chatImages: imagesOverChat(chat, files),
    completions: {
      takesList: false,
      ask: (call, sink) =>
        askEvents(
          transport,
          { endpoint: call.endpoint, streaming: call.request.chat.stream },
          {
            request: () => generateRequest(call),
            reader: () => new OllamaReader({ generationId: '', hidesReasoning: true }, now),
            decoder: protocol.decoder,
          },
          sink,
        ),
    },
    embeddings: askEmbeddings(ollamaEmbed(now), transport),
  }
}

export function ollamaProtocol(now: () => number): ChatProtocol {
  return {
    request: ollamaRequest,
    reader: ({ generationId, request }) =>
      new OllamaReader({ generationId, hidesReasoning: reasoningWish(request.parameters).isHidden }, now),
    decoder: ({ message }) => new NdjsonDecoder(message),
  }
}
