import { parseRerank } from '../../openai/client/rerank.ts'
import type { ClientCall, ClientChat, ClientInput, ClientSide, ClientWords } from '../../ports/client-call.ts'
import { REQUEST_TYPE_TABLE } from '../../../tables/model-types.ts'
import { parseCohereChat } from './parse.ts'
import { cohereEmbedBody, cohereRerankBody, parseCohereEmbed } from './rerank.ts'
import { CohereWriter } from './writer.ts'

const WORDS: ClientWords = { stop: 'stop_sequences', top_k: 'k', top_p: 'p', reasoning: 'thinking' }

/** The calls of Cohere's v2 (clients.md 6). */
const CALLS: readonly ClientCall[] = [
  { paths: REQUEST_TYPE_TABLE.cohere_chat.paths, kind: 'chat', read: readCohereChat },
  { paths: ['/v2/embed'], kind: 'embeddings', read: ({ json }) => parseCohereEmbed(json), write: cohereEmbedBody },
  {
    paths: ['/v2/rerank'],
    kind: 'rerank',
    // Clients have the documents, and refer to them by index.
    read: ({ json }) => ({ ...parseRerank(json), returnDocuments: false }),
    write: cohereRerankBody,
  },
]

export const COHERE: ClientSide = { calls: CALLS }

/** `/v2/chat` (clients.md 6). */
function readCohereChat({ json }: ClientInput): ClientChat {
  const { chat, dropped } = parseCohereChat(json)
  return {
    type: 'cohere_chat',
    chat,
    words: WORDS,
    dropped: () => dropped,
    writer: ({ identity }) => new CohereWriter(identity),
  }
}
