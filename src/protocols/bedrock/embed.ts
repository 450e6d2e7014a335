import { INVOKE_TRAITS } from './bedrock-model.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { COHERE_TEXTS_MAX, cohereEmbedFields, cohereEmbedPage } from '../models/cohere-vectors.ts'
import {
  dimensionsOf,
  type EmbeddingsCall,
  type EmbeddingsPage,
  type EmbeddingsProtocol,
  isFailure,
  textsOf,
  tokensUsage,
  vectorList,
} from '../upstream/embeddings.ts'
import type { LiftedJson } from '../wire/lifted-json.ts'
import { listOf, objectOf } from '../wire/raw-json.ts'
import { headerOf, type UpstreamHeaders } from '../wire/transport.ts'
import { invokeModel } from './request.ts'

/** The billed tokens, for any model. */
const TOKENS_HEADER = 'x-amzn-bedrock-input-token-count'
/** Nova's names for the purpose of a vector. */
const PURPOSES: ReadonlyMap<string, string> = new Map([
  ['search_query', 'GENERIC_RETRIEVAL'],
  ['query', 'GENERIC_RETRIEVAL'],
  ['search_document', 'GENERIC_INDEX'],
  ['document', 'GENERIC_INDEX'],
  ['passage', 'GENERIC_INDEX'],
  ['classification', 'CLASSIFICATION'],
  ['clustering', 'CLUSTERING'],
])

/** Embeddings of Bedrock, which only InvokeModel offers; each maker's models have a dialect of their own. */
export function bedrockEmbed(now: () => number): EmbeddingsProtocol {
  return {
    batchMax: (call) => (isCohere(call) ? COHERE_TEXTS_MAX : 1),
    request: (call, input) => invokeModel(call, bodyOf(call, textsOf(input)), now()),
    page: readPage,
  }
}

function isCohere({ endpoint: { upstreamModel } }: EmbeddingsCall): boolean {
  return INVOKE_TRAITS.of(upstreamModel) === 'cohere'
}

function bodyOf(call: EmbeddingsCall, texts: readonly string[]): Readonly<Record<string, unknown>> {
  if (isCohere(call)) return { ...cohereEmbedFields(call, texts), truncate: 'NONE' }
  const dimensions = dimensionsOf(call)
  const [text = ''] = texts
  if (INVOKE_TRAITS.of(call.endpoint.upstreamModel) !== 'nova')
    return { inputText: text, ...(dimensions === null ? {} : { dimensions }) }
  const purpose = PURPOSES.get(call.request.inputType ?? '') ?? call.request.inputType ?? 'GENERIC_INDEX'
  return {
    taskType: 'SINGLE_EMBEDDING',
    singleEmbeddingParams: {
      embeddingPurpose: purpose,
      text: { value: text, truncationMode: 'NONE' },
      ...(dimensions === null ? {} : { embeddingDimension: dimensions }),
    },
  }
}

/** Titan answers with `embedding`, Nova with objects in `embeddings`, Cohere's models as Cohere does. */
function readPage(answer: LiftedJson, headers: UpstreamHeaders): EmbeddingsPage | AttemptFailure {
  const body = objectOf(answer.json) ?? {}
  const usage = billedTokens(headers, body['inputTextTokenCount'])
  const objects = listOf(body['embeddings']).map(objectOf)
  if (body['embedding'] === undefined && objects.every((embedding) => embedding === null)) {
    const page = cohereEmbedPage(answer)
    return isFailure(page) ? page : { ...page, usage: page.usage ?? usage }
  }
  const vectors = vectorList(
    answer,
    body['embedding'] === undefined ? objects.map((embedding) => embedding?.['embedding']) : [body['embedding']],
  )
  return isFailure(vectors) ? vectors : { vectors, usage, upstreamId: null }
}

function billedTokens(headers: UpstreamHeaders, counted: unknown): UsageReport | null {
  return tokensUsage({ said: headerOf(headers, TOKENS_HEADER) ?? counted }, 'said')
}
