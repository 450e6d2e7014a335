import type { ErrorName } from '../../base/errors.ts'
import {
  OllamaChatAnswer,
  OllamaChatBody,
  OllamaEmbedAnswer,
  OllamaEmbedBody,
  OllamaModels,
  OllamaVersion,
} from '../../protocols/ollama/client/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'

const UNITS: readonly ErrorName[] = ['missing_model', 'invalid_input', 'empty_response']

/** The routes of Ollama's clients. */
export const OLLAMA_ROUTES: Readonly<Record<string, WireRoute>> = {
  'POST /api/chat': {
    summary: 'The same models, in the form of Ollama’s chat.',
    body: OllamaChatBody,
    answer: OllamaChatAnswer,
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
    example: {
      body: { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }], stream: false },
    },
  },
  'POST /api/embed': {
    summary: 'Turns texts into vectors.',
    body: OllamaEmbedBody,
    answer: OllamaEmbedAnswer,
    errors: [...UNITS, 'missing_input'],
    example: { body: { model: 'sandbox/embeddings', input: ['first', 'second'] } },
  },
  'GET /api/tags': { summary: 'The models, in the form of Ollama.', answer: OllamaModels, example: {} },
  'GET /api/version': { summary: 'The version of Ollama whose calls are known.', answer: OllamaVersion, example: {} },
}
