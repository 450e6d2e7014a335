import { rubles } from '../../../base/money.ts'
import { rerankBody } from '../../openai/client/rerank.ts'
import { ApiError } from '../../../base/errors.ts'
import type { ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChunkIdentity } from '../../../kinds/chat/answer.ts'
import { parseEmbeddings, vectorList } from '../../openai/client/embeddings.ts'
import type { EmbeddingsRequest, VectorFormat } from '../../../kinds/embeddings.ts'
import { bodyObject, field, invalidInput, isObject, type RawObject } from '../../../kinds/fields/body-fields.ts'

/** Reads the body of `/v2/embed` as an embeddings request. */
export function parseCohereEmbed(json: unknown): EmbeddingsRequest {
  const body = bodyObject(json)
  if (field(body, 'images') !== undefined) throw invalidInput('images', 'is not offered: only texts are embedded here')
  return parseEmbeddings({
    model: field(body, 'model'),
    input: textsOf(body),
    encoding_format: formatOf(body),
    dimensions: field(body, 'output_dimension'),
    input_type: field(body, 'input_type'),
    provider: field(body, 'provider'),
    session_id: field(body, 'session_id'),
  })
}

/** `texts`, or `inputs` whose content is text. */
function textsOf(body: RawObject): unknown {
  const texts = field(body, 'texts')
  const inputs = field(body, 'inputs')
  if (texts === undefined && inputs === undefined) throw new ApiError('missing_input', "Parameter 'texts' is required")
  if (inputs !== undefined && !Array.isArray(inputs)) throw invalidInput('inputs', 'must be a list')
  if (texts !== undefined) return listOfTexts(texts)
  return (inputs ?? []).map((input: unknown, index) => {
    const content = isObject(input) ? field(input, 'content') : undefined
    const parts: readonly unknown[] = Array.isArray(content) ? content : []
    const said = parts.map((part) => (isObject(part) ? field(part, 'text') : undefined))
    if (said.length === 0 || said.some((text) => typeof text !== 'string'))
      throw invalidInput(`inputs[${index}].content`, 'must hold text: nothing else is embedded here')
    return said.join('\n')
  })
}

/** The texts as a list; this protocol accepts neither a single text nor tokens. */
function listOfTexts(texts: unknown): readonly unknown[] {
  if (!Array.isArray(texts) || texts.some((text) => typeof text !== 'string'))
    throw invalidInput('texts', 'must be a list of texts')
  return texts
}

function formatOf(body: RawObject): VectorFormat {
  const types = field(body, 'embedding_types') ?? ['float']
  const [only] = Array.isArray(types) ? types : []
  if (Array.isArray(types) && types.length === 1 && (only === 'float' || only === 'base64')) return only
  throw invalidInput('embedding_types', "must be ['float'] or ['base64']")
}

/** The answer of `/v2/embed`, in parts. */
export function cohereEmbedBody(
  { id }: ChunkIdentity,
  vectors: readonly Buffer[],
  { report, chargedMicro }: ChargedUsage,
): readonly Buffer[] {
  const type: VectorFormat = vectors[0]?.[0] === QUOTE ? 'base64' : 'float'
  const meta = {
    api_version: { version: '2' },
    billed_units: { input_tokens: report.inputTokens },
    cost: rubles(chargedMicro),
    currency: 'RUB',
  }
  const head = `{"id":${JSON.stringify(id)},"response_type":"embeddings_by_type","embeddings":{"${type}":[`
  return vectorList(head, vectors, `]},"texts":[],"meta":${JSON.stringify(meta)}}`)
}

const QUOTE = 0x22

/** The answer of `/v2/rerank`. */
export const cohereRerankBody: typeof rerankBody = (request, results, identity, charge) => {
  const { results: ranked } = rerankBody(request, results, identity, charge)
  const { searches, tokens, chargedMicro } = charge
  return {
    id: identity.id,
    results: ranked,
    meta: {
      api_version: { version: '2' },
      billed_units: {
        ...(searches === null ? {} : { search_units: searches }),
        ...(tokens === null ? {} : { input_tokens: tokens }),
      },
      cost: rubles(chargedMicro),
      currency: 'RUB',
    },
  }
}
