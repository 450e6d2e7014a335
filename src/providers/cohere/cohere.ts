import { imagesOverChat } from '../answers/images-over-chat.ts'
import { reasoningWish } from '../../protocols/answers/reasoning-wish.ts'
import { chatParameters, NO_PARAMETERS, type Adapter, type AdapterPorts } from '../../protocols/ports/adapter.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../protocols/upstream/models.ts'
import { textOf } from '../../protocols/wire/raw-json.ts'
import { askRerank } from '../../protocols/upstream/ask.ts'
import { askEmbeddings } from '../../protocols/upstream/embeddings.ts'
import { askChat, type ChatProtocol } from '../../protocols/upstream/events.ts'
import { readRanking, topNField, type RerankProtocol } from '../../protocols/upstream/rerank.ts'
import { CohereDecoder, CohereReader } from '../../protocols/cohere/provider/reader.ts'
import { cohereEmbed } from '../../protocols/models/cohere-vectors.ts'
import { cohereRequest } from '../../protocols/cohere/provider/request.ts'
import { cohereError } from './error.ts'
import { bearer } from '../../base/bearer.ts'

/** Parameters of Cohere's chat protocol, by OpenRouter's names; an endpoint may list fewer. */
const PARAMETERS = chatParameters('top_k', 'frequency_penalty', 'presence_penalty', 'seed', 'tool_choice')

/**
 * Cohere's v2 chat, embed and rerank. Requests of the first chat protocol are not written, since every model that still
 * runs has the newer one; answers of the first are still read.
 */
export function createCohere({ transport, files, jobs, now }: AdapterPorts): Adapter {
  const chat = askChat(cohereProtocol(now), transport)
  return {
    name: 'cohere',
    parameters: { ...NO_PARAMETERS, chat: PARAMETERS, embeddings: ['dimensions', 'input_type'], rerank: ['top_n'] },
    chat,
    chatImages: imagesOverChat(chat, files),
    embeddings: askEmbeddings(cohereEmbed(now), transport),
    rerank: askRerank(cohereRerank(now), transport),
    models: askModels(COHERE_MODELS, { jobs, now }),
  }
}

const COHERE_MODELS: ModelListProtocol = {
  request: (_provider, apiKey) => ({
    path: '/v1/models?page_size=1000',
    headers: bearer(apiKey),
  }),
  entries: entriesIn('models'),
  model: (entry) => listedModel(entry, textOf(entry['name'])),
}

export function cohereProtocol(now: () => number): ChatProtocol {
  return {
    request: cohereRequest,
    reader: ({ generationId, request }) =>
      new CohereReader({ generationId, hidesReasoning: reasoningWish(request.parameters).isHidden }, now),
    decoder: (events) => new CohereDecoder(events),
  }
}

/** Cohere's v2 `rerank`. */
export function cohereRerank(now: () => number): RerankProtocol {
  return {
    request: (call) => ({
      path: '/v2/rerank',
      body: {
        model: call.endpoint.upstreamModel,
        query: call.request.query,
        documents: call.request.documents,
        ...topNField(call),
      },
      headers: bearer(call.apiKey),
    }),
    answer: readRanking,
    error: (status, body, headers) => cohereError(status, body, headers, now()),
  }
}
