import { claudeLeaves } from '../models/claude-format.ts'
import { imagesOverChat } from '../answers/images-over-chat.ts'
import { chatParameters, NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import { askRerank, readRanking, topNField, type RerankProtocol } from '../upstream/rerank.ts'
import {
  askEmbeddings,
  dimensionsOf,
  type EmbeddingsCall,
  type EmbeddingsPage,
  type EmbeddingsProtocol,
  isFailure,
  textsOf,
  tokensUsage,
  vectorList,
} from '../upstream/embeddings.ts'
import { askChat, type ChatProtocol } from '../upstream/events.ts'
import { INVOKE_TRAITS, bedrockModelOf, bedrockRequest, invokeModel } from './request.ts'
import { EventStreamDecoder } from './event-stream-decoder.ts'
import { BedrockReader } from './reader.ts'
import { blockViewOf } from '../models/claude-request.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { COHERE_TEXTS_MAX, cohereEmbedFields, cohereEmbedPage } from '../models/cohere-vectors.ts'
import type { LiftedJson } from '../wire/lifted-json.ts'
import { listOf, objectOf } from '../wire/raw-json.ts'
import { headerOf, type UpstreamHeaders } from '../wire/transport.ts'

/** The API version of Cohere's models at Bedrock. */
const COHERE_API_VERSION = 2

/** Parameters of Converse, by OpenRouter's names; an endpoint may list fewer. */
export const BEDROCK_PARAMETERS = chatParameters('top_k', 'tool_choice')

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

/**
 * Amazon Bedrock: Converse for the chat models of every maker, InvokeModel for the other models. The base address is
 * the bare host.
 */
export function createBedrock({ transport, files, clock }: AdapterPorts): Adapter {
  const now = (): number => clock.now()
  const chat = askChat(bedrockProtocol(now), transport)
  return {
    name: 'bedrock',
    parameters: {
      ...NO_PARAMETERS,
      chat: BEDROCK_PARAMETERS,
      embeddings: ['dimensions', 'input_type'],
      rerank: ['top_n'],
    },
    chat,
    leaves: ({ upstreamModel }, request) => {
      const { claude, means } = bedrockModelOf(upstreamModel)
      return claude === null ? ['reasoning', 'reasoning_effort'] : claudeLeaves(request, claude, means)
    },
    chatImages: imagesOverChat(chat, files),
    embeddings: askEmbeddings(bedrockEmbed(now), transport),
    rerank: askRerank(bedrockRerank(now), transport),
  }
}

export function bedrockProtocol(now: () => number): ChatProtocol {
  return {
    request: (call) => bedrockRequest(call, now()),
    reader: (call) => new BedrockReader(blockViewOf(call, bedrockModelOf(call.endpoint.upstreamModel).means)),
    decoder: (events) => new EventStreamDecoder(events),
  }
}

/**
 * Reranking models of Bedrock through InvokeModel. The service's own Rerank is at another host and gives the same
 * answers.
 */
export function bedrockRerank(now: () => number): RerankProtocol {
  return {
    request: (call) => {
      const { query, documents } = call.request
      const version =
        INVOKE_TRAITS.of(call.endpoint.upstreamModel) === 'cohere' ? { api_version: COHERE_API_VERSION } : {}
      return invokeModel(call, { query, documents, ...topNField(call), ...version }, now())
    },
    answer: readRanking,
  }
}

/** Embeddings of Bedrock, which only InvokeModel offers; the models of each maker have a dialect of their own. */
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

/**
 * Reads an answer: Titan's has `embedding`, Nova's has objects in `embeddings`, Cohere's models answer as Cohere does.
 */
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
