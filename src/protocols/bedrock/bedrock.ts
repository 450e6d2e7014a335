import { claudeLeaves } from '../models/claude-format.ts'
import { imagesOverChat } from '../answers/images-over-chat.ts'
import { chatParameters, NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import { askRerank, readRanking, topNField, type RerankProtocol } from '../upstream/rerank.ts'
import { askEmbeddings } from '../upstream/embeddings.ts'
import { askChat, type ChatProtocol } from '../upstream/events.ts'
import { bedrockModelOf, INVOKE_TRAITS } from './bedrock-model.ts'
import { bedrockEmbed } from './embed.ts'
import { EventStreamDecoder } from './event-stream-decoder.ts'
import { BedrockReader } from './reader.ts'
import { blockViewOf } from '../models/claude-request.ts'
import { bedrockRequest, invokeModel } from './request.ts'

/** The version for Cohere's models there. */
const COHERE_API_VERSION = 2

/** Parameters of Converse, by OpenRouter's names; an endpoint may list fewer. */
export const BEDROCK_PARAMETERS = chatParameters('top_k', 'tool_choice')

/**
 * Amazon Bedrock: Converse for every maker's chat models, InvokeModel for the other models. The base address is the
 * bare host.
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
