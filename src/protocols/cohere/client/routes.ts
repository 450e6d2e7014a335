import { RerankBody } from '../../openai/client/rerank.ts'
import { CHAT_ERRORS, UNIT_ERRORS, type ClientDocs } from '../../ports/client-call.ts'
import * as schema from './schema.ts'

/** The routes of the second version of Cohere's API. */
const ROUTES: ClientDocs['routes'] = {
  'POST /v2/chat': {
    summary: 'The same models, in the form of Cohere’s chat.',
    body: schema.CohereChatBody,
    answer: schema.CohereChatAnswer,
    errors: CHAT_ERRORS,
    example: { body: { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 } },
  },
  'POST /v2/embed': {
    summary: 'Turns texts into vectors.',
    body: schema.CohereEmbedBody,
    answer: schema.CohereEmbedAnswer,
    errors: [...UNIT_ERRORS, 'missing_input'],
    example: {
      body: {
        model: 'sandbox/embeddings',
        texts: ['first', 'second'],
        input_type: 'search_document',
        embedding_types: ['float'],
      },
    },
  },
  'POST /v2/rerank': {
    summary: 'Sorts documents by how well they answer a query.',
    body: RerankBody,
    answer: schema.CohereRerankAnswer,
    errors: [...UNIT_ERRORS, 'missing_query', 'missing_documents'],
    example: {
      body: {
        model: 'sandbox/rerank',
        query: 'capital of France',
        documents: ['Berlin is in Germany.', 'Paris is in France.'],
      },
    },
  },
}

export const COHERE_DOCS: ClientDocs = { routes: ROUTES, records: schema }
