import { parseRerank } from '../../openai/client/rerank.ts'
import type { ClientCall, ClientChat, ClientInput, ClientWords } from '../../ports/client-call.ts'
import { parseCohereChat } from './parse.ts'
import { cohereEmbedBody, cohereRerankBody, parseCohereEmbed } from './rerank.ts'
import { CohereWriter } from './writer.ts'

const WORDS: ClientWords = { stop: 'stop_sequences', top_k: 'k', top_p: 'p', reasoning: 'thinking' }

/** The other calls of Cohere's v2 (clients.md 6). */
export const COHERE_CALLS: readonly ClientCall[] = [
  { paths: ['/v2/embed'], kind: 'embeddings', read: ({ json }) => parseCohereEmbed(json), write: cohereEmbedBody },
  {
    paths: ['/v2/rerank'],
    kind: 'rerank',
    // Its clients have the documents and refer to them by index.
    read: ({ json }) => ({ ...parseRerank(json), returnDocuments: false }),
    write: cohereRerankBody,
  },
]

/** `/v2/chat` (clients.md 6). */
export function readCohereChat({ json }: ClientInput): ClientChat {
  const { chat, dropped } = parseCohereChat(json)
  return {
    type: 'cohere_chat',
    chat,
    words: WORDS,
    dropped: () => dropped,
    writer: ({ identity }) => new CohereWriter(identity),
  }
}
