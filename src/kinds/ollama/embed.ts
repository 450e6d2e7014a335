import type { ChargedUsage } from '../answer/writer.ts'
import type { ChunkIdentity } from '../chat/answer.ts'
import { parseEmbeddings } from '../embeddings/parse.ts'
import type { EmbeddingsRequest } from '../embeddings.ts'
import { bodyObject } from '../fields/body-fields.ts'
import { field, invalidInput } from '../fields/json-fields.ts'
import { rubles } from '../../base/money.ts'

/** Reads the body of `/api/embed` as an embeddings request. */
export function parseOllamaEmbed(json: unknown): EmbeddingsRequest {
  const body = bodyObject(json)
  const input = field(body, 'input')
  if (Array.isArray(input) && input.some((text) => typeof text !== 'string'))
    throw invalidInput('input', 'must be a text or a list of texts')
  return parseEmbeddings({
    model: modelOf(field(body, 'model')),
    input,
    dimensions: field(body, 'dimensions'),
    provider: field(body, 'provider'),
    session_id: field(body, 'session_id'),
  })
}

/** Clients add a tag to a name without one. */
function modelOf(model: unknown): unknown {
  return typeof model === 'string' ? model.replace(/:latest$/, '') : model
}

/** The answer of `/api/embed`, in parts: the vectors need not be copied. */
export function ollamaEmbedBody(
  { model }: ChunkIdentity,
  vectors: readonly Buffer[],
  { report, chargedMicro }: ChargedUsage,
): readonly Buffer[] {
  const parts: Buffer[] = [Buffer.from(`{"model":${JSON.stringify(model)},"embeddings":[`)]
  for (const [index, vector] of vectors.entries()) {
    if (index > 0) parts.push(COMMA)
    parts.push(vector)
  }
  const counts = { prompt_eval_count: report.inputTokens, cost: rubles(chargedMicro), currency: 'RUB' }
  parts.push(Buffer.from(`],${JSON.stringify(counts).slice(1)}`))
  return parts
}

const COMMA = Buffer.from(',')
