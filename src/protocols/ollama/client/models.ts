import { isoTime } from '../../../base/time.ts'
import type { Model } from '../../../catalog/catalog.ts'
import type { ClientSide } from '../../ports/client-call.ts'

/**
 * The first version of Ollama whose clients know tools and thinking as they are sent here; clients ask for it to learn
 * what they may send.
 */
const OLLAMA_VERSION = '0.12.0'

/** The list of models for Ollama's clients (clients.md 6), and what they ask first. */
export const OLLAMA_READS: NonNullable<ClientSide['reads']> = {
  '/api/tags': (models) => ({ models: models.filter(isCallable).map(ollamaModel) }),
  '/api/version': () => ({ version: OLLAMA_VERSION }),
}

/** Whether these clients can call the model at all. */
function isCallable({ type }: Model): boolean {
  return type === 'chat' || type === 'embeddings'
}

function ollamaModel({ id, created }: Model): Record<string, unknown> {
  const family = id.split('/', 1)[0] ?? ''
  return {
    name: id,
    model: id,
    modified_at: isoTime(created * 1_000),
    size: 0,
    digest: '',
    details: {
      parent_model: '',
      format: '',
      family,
      families: [family],
      parameter_size: '',
      quantization_level: '',
    },
  }
}
