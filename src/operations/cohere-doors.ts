import { cohereEmbedBody, parseCohereEmbed } from '../kinds/cohere/embed.ts'
import { cohereRerankBody } from '../kinds/cohere/rerank.ts'
import { parseRerank } from '../kinds/rerank/parse.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import { embeddingsOperations } from './embeddings.ts'
import { withSession, type PaidKind } from './paid-kind.ts'
import { rerankOperations } from './rerank.ts'

/** The other calls of Cohere's v2 (clients.md 6), each as a request of an existing type. */
export function cohereDoors(adapters: AdapterTable): readonly PaidKind[] {
  const embed = embeddingsOperations(adapters, cohereEmbedBody)
  const rerank = rerankOperations(adapters, cohereRerankBody)
  return [
    {
      body: 'json',
      paths: ['/v2/embed'],
      read: ({ json, sessionId }) => embed(withSession(parseCohereEmbed(json), sessionId)),
    },
    {
      body: 'json',
      paths: ['/v2/rerank'],
      // Its clients have the documents and refer to them by index.
      read: ({ json, sessionId }) => rerank(withSession({ ...parseRerank(json), returnDocuments: false }, sessionId)),
    },
  ]
}
