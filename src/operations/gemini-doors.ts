import { embedBody, parseBatchEmbed, parseEmbedContent } from '../protocols/gemini/client/embed.ts'
import { parseGenerateContent } from '../protocols/gemini/client/parse.ts'
import { REQUEST_TYPE_TABLE } from '../tables/model-types.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import type { Operation } from '../pay/relay/operation.ts'
import { embeddingsOperations } from '../pay/operations/embeddings.ts'
import { generateContentOperation } from './generate-content.ts'
import { withSession, type OperationInput, type PaidKind } from './paid-kind.ts'

/** The other calls of Gemini's protocol (clients.md 4), each as a request of an existing type. */
export function geminiDoors(adapters: AdapterTable): readonly PaidKind[] {
  const embedOne = embeddingsOperations(adapters, embedBody(false))
  const embedMany = embeddingsOperations(adapters, embedBody(true))
  const door = (word: string, read: PaidKind['read']): PaidKind => ({
    body: 'json',
    protocol: 'gemini',
    paths: REQUEST_TYPE_TABLE.generate_content.paths.map((path) => path.replace('generateContent', word)),
    read,
  })
  return [
    door('streamGenerateContent', (input) => readGenerateContent(input, true, adapters)),
    door('embedContent', ({ json, params, sessionId }) =>
      embedOne(withSession(parseEmbedContent(json, params['model'] ?? ''), sessionId)),
    ),
    door('batchEmbedContents', ({ json, params, sessionId }) =>
      embedMany(withSession(parseBatchEmbed(json, params['model'] ?? ''), sessionId)),
    ),
  ]
}

/** A stream without `alt=sse` is the items of one JSON array. */
export function readGenerateContent(
  { json, params, query, sessionId }: OperationInput,
  stream: boolean,
  adapters: AdapterTable,
): Operation {
  const framing = query().get('alt') === 'sse' ? 'sse' : 'array'
  const request = parseGenerateContent(json, { model: params['model'] ?? '', stream, framing })
  return generateContentOperation({ ...request, chat: withSession(request.chat, sessionId) }, adapters)
}
