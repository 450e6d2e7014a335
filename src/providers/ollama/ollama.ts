import { imagesOverChat } from '../answers/images-over-chat.ts'
import { reasoningWish } from '../../protocols/answers/reasoning-wish.ts'
import { chatParameters, NO_PARAMETERS, type Adapter, type AdapterPorts } from '../../protocols/ports/adapter.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../protocols/upstream/models.ts'
import { askEmbeddings } from '../../protocols/upstream/embeddings.ts'
import { askChat, askCompletions, type ChatProtocol } from '../../protocols/upstream/events.ts'
import { NdjsonDecoder } from '../../protocols/wire/ndjson-decoder.ts'
import { failure, type AttemptFailure } from '../ports/attempt-failure.ts'
import {
  dimensionsOf,
  isFailure,
  textsOf,
  tokensUsage,
  vectorList,
  type EmbeddingsPage,
  type EmbeddingsProtocol,
} from '../ports/embeddings-protocol.ts'
import type { LiftedJson } from '../../protocols/wire/lifted-json.ts'
import { objectOf, textOf } from '../../protocols/wire/raw-json.ts'
import { eventFailure, upstreamFailure } from '../wire/upstream-error.ts'
import { OllamaReader } from './reader.ts'
import { generateRequest, ollamaRequest } from './request.ts'
import { bearer } from '../../base/bearer.ts'

/** Parameters of Ollama's chat protocol, by OpenRouter's names; an endpoint may list fewer. */
const PARAMETERS = chatParameters(
  'top_k',
  'min_p',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'seed',
)

/** Ollama's own chat and embed, and its `/api/generate` for completions. */
export function createOllama({ transport, files, jobs, now }: AdapterPorts): Adapter {
  const protocol = ollamaProtocol(now)
  const chat = askChat(protocol, transport)
  return {
    name: 'ollama',
    parameters: { ...NO_PARAMETERS, chat: PARAMETERS, embeddings: ['dimensions'] },
    chat,
    chatImages: imagesOverChat(chat, files),
    completions: askCompletions(transport, false, {
      request: generateRequest,
      reader: () => new OllamaReader({ generationId: '', hidesReasoning: true }, now),
      decoder: protocol.decoder,
    }),
    embeddings: askEmbeddings(ollamaEmbed(now), transport),
    models: askModels(OLLAMA_MODELS, { jobs, now }),
  }
}

const OLLAMA_MODELS: ModelListProtocol = {
  request: (_provider, apiKey) => ({
    path: '/api/tags',
    headers: bearer(apiKey),
  }),
  entries: entriesIn('models'),
  model: (entry) => listedModel(entry, textOf(entry['name'])),
}

export function ollamaProtocol(now: () => number): ChatProtocol {
  return {
    request: ollamaRequest,
    reader: ({ generationId, request }) =>
      new OllamaReader({ generationId, hidesReasoning: reasoningWish(request.parameters).isHidden }, now),
    decoder: ({ message }) => new NdjsonDecoder(message),
  }
}

/** Ollama's own `/api/embed`. Without `truncate: false` it would silently cut a text that exceeds its context. */
export function ollamaEmbed(now: () => number): EmbeddingsProtocol {
  return {
    batchMax: () => Infinity,
    request: (call, input) => {
      const dimensions = dimensionsOf(call)
      return {
        path: '/api/embed',
        body: {
          model: call.endpoint.upstreamModel,
          input: textsOf(input),
          truncate: false,
          ...(dimensions === null ? {} : { dimensions }),
        },
        headers: bearer(call.apiKey),
      }
    },
    page: readPage,
    error: (status, body, headers) => upstreamFailure(status, body, headers, now()),
  }
}

/** The page of an answer of `/api/embed`, or of `/api/embeddings`, which holds one vector. */
function readPage(answer: LiftedJson): EmbeddingsPage | AttemptFailure {
  const body = objectOf(answer.json) ?? {}
  const error = body['error'] ?? null
  if (error !== null) return eventFailure(error)
  const { embedding, embeddings } = body
  if (embedding === undefined && !Array.isArray(embeddings))
    return failure('garbage', null, 'the answer holds no embeddings')
  const vectors = vectorList(answer, Array.isArray(embeddings) ? embeddings : [embedding])
  return isFailure(vectors) ? vectors : { vectors, usage: tokensUsage(body, 'prompt_eval_count'), upstreamId: null }
}
