import type { ErrorName } from '../../base/errors.ts'
import {
  CohereChatAnswer,
  CohereChatBody,
  CohereEmbedAnswer,
  CohereEmbedBody,
  CohereRerankAnswer,
} from '../../protocols/cohere/client/schema.ts'
import { RerankBody } from '../../protocols/openai/client/rerank.ts'
import type { WireRoute } from '../../base/wire-route.ts'

const UNITS: readonly ErrorName[] = ['missing_model', 'invalid_input', 'empty_response']

/** The routes of Cohere's second version. */
export const COHERE_ROUTES: Readonly<Record<string, WireRoute>> = {
  'POST /v2/chat': {
    summary: 'The same models, in the form of Cohere’s chat.',
    body: CohereChatBody,
    answer: CohereChatAnswer,
    errors: [
      'missing_model',
      'missing_messages',
      'invalid_message_format',
      'invalid_message_role',
      'invalid_response_format',
      'invalid_input',
      'invalid_base64',
      'token_limit_exceeded',
      'empty_response',
    ],
    example: { body: { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 } },
  },
  'POST /v2/embed': {
    summary: 'Turns texts into vectors.',
    body: CohereEmbedBody,
    answer: CohereEmbedAnswer,
    errors: [...UNITS, 'missing_input'],
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
    answer: CohereRerankAnswer,
    errors: [...UNITS, 'missing_query', 'missing_documents'],
    example: {
      body: {
        model: 'sandbox/rerank',
        query: 'capital of France',
        documents: ['Berlin is in Germany.', 'Paris is in France.'],
      },
    },
  },
}
