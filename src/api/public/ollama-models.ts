import type { Principal } from '../../access/principal.ts'
import type { Catalog, Model } from '../../catalog/catalog.ts'
import type { Route } from '../../http/edge.ts'
import { isoTime } from '../../base/time.ts'
import { listedModels } from './models.ts'

/**
 * The first version of Ollama whose clients know tools and thinking as they are sent here; clients ask for it to learn
 * what they may send.
 */
const OLLAMA_VERSION = '0.12.0'

/** The list of models for Ollama's clients (clients.md 6). */
export function ollamaModelRoutes(catalog: Catalog): readonly Route<Principal>[] {
  const get = (path: string, body: () => unknown): Route<Principal> => ({
    method: 'GET',
    path,
    plane: 'key',
    body: 'none',
    priority: 'low',
    protocol: 'ollama',
    handle: () => ({ status: 200, body: body() }),
  })
  return [
    get('/api/tags', () => ({
      models: listedModels(catalog.current().models.values(), 'all').filter(isCallable).map(ollamaModel),
    })),
    get('/api/version', () => ({ version: OLLAMA_VERSION })),
  ]
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
