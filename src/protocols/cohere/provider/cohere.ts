import { imagesOverChat } from '../../answers/images-over-chat.ts'
import { reasoningWish } from '../../answers/reasoning-wish.ts'
import { chatParameters, NO_PARAMETERS, type Adapter, type AdapterPorts } from '../../ports/adapter.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../upstream/models.ts'
import { textOf } from '../../wire/raw-json.ts'
import { askRerank, readRanking, topNField, type RerankProtocol } from '../../upstream/rerank.ts'
import { askEmbeddings, type EmbeddingsProtocol, textsOf } from '../../upstream/embeddings.ts'
import { askChat, type ChatProtocol } from '../../upstream/events.ts'
import { CohereDecoder, CohereReader } from './reader.ts'
import { COHERE_TEXTS_MAX, cohereEmbedFields, cohereEmbedPage } from '../../models/cohere-vectors.ts'
import { cohereRequest } from './request.ts'
import { bearer } from '../../../base/bearer.ts'

/** Parameters of Cohere's chat protocol, by OpenRouter's names; an endpoint may list fewer. */
const PARAMETERS = chatParameters('top_k', 'frequency_penalty', 'presence_penalty', 'seed', 'tool_choice')

/**
 * Cohere's v2 chat, embed and rerank. Requests of the first chat protocol are not written, since every model that still
 * runs has the newer one; answers of the first are still read.
 */
export function createCohere({ transport, files, jobs }: AdapterPorts): Adapter {
  const chat = askChat(cohereProtocol, transport)
  return {
    name: 'cohere',
    parameters: { ...NO_PARAMETERS, chat: PARAMETERS, embeddings: ['dimensions', 'input_type'], rerank: ['top_n'] },
    chat,
    chatImages: imagesOverChat(chat, files),
    embeddings: askEmbeddings(cohereEmbed, transport),
    rerank: askRerank(cohereRerank, transport),
    models: askModels(COHERE_MODELS, jobs),
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

export const cohereProtocol: ChatProtocol = {
  request: cohereRequest,
  reader: ({ generationId, request }) =>
    new CohereReader({ generationId, hidesReasoning: reasoningWish(request.parameters).isHidden }),
  decoder: (events) => new CohereDecoder(events),
}

/** Cohere's v2 `embed`. */
export const cohereEmbed: EmbeddingsProtocol = {
  batchMax: () => COHERE_TEXTS_MAX,
  request: (call, input) => ({
    path: '/v2/embed',
    body: { model: call.endpoint.upstreamModel, ...cohereEmbedFields(call, textsOf(input)), truncate: 'NONE' },
    headers: bearer(call.apiKey),
  }),
  page: (answer) => cohereEmbedPage(answer),
}

/** Cohere's v2 `rerank`. */
export const cohereRerank: RerankProtocol = {
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
}
