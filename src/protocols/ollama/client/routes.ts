import { CHAT_ERRORS, UNIT_ERRORS, type ClientDocs } from '../../ports/client-call.ts'
import * as schema from './schema.ts'

/** The routes of Ollama's clients. */
const ROUTES: ClientDocs['routes'] = {
  'POST /api/chat': {
    summary: 'The same models, in the form of Ollama’s chat.',
    body: schema.OllamaChatBody,
    answer: schema.OllamaChatAnswer,
    errors: CHAT_ERRORS,
    example: {
      body: { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }], stream: false },
    },
  },
  'POST /api/embed': {
    summary: 'Turns texts into vectors.',
    body: schema.OllamaEmbedBody,
    answer: schema.OllamaEmbedAnswer,
    errors: [...UNIT_ERRORS, 'missing_input'],
    example: { body: { model: 'sandbox/embeddings', input: ['first', 'second'] } },
  },
  'GET /api/tags': { summary: 'The models, in the form of Ollama.', answer: schema.OllamaModels, example: {} },
  'GET /api/version': {
    summary: 'The version of Ollama whose calls are known.',
    answer: schema.OllamaVersion,
    example: {},
  },
}

export const OLLAMA_DOCS: ClientDocs = { routes: ROUTES, records: schema }
