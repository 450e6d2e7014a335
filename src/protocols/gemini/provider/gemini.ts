import { imagesOverChat } from '../../answers/images-over-chat.ts'
import { reasoningWish } from '../../answers/reasoning-wish.ts'
import {
  chatParameters,
  NO_PARAMETERS,
  VIDEO_PARAMETERS,
  type Adapter,
  type AdapterPorts,
} from '../../ports/adapter.ts'
import type { ChatCall } from '../../ports/call.ts'
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
} from '../../upstream/embeddings.ts'
import { askChat, sseMessages, type ChatProtocol } from '../../upstream/events.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../upstream/models.ts'
import { textOf, listOf, objectOf, type RawJson } from '../../wire/raw-json.ts'
import { geminiImages, GEMINI_IMAGE_PARAMETERS } from './images.ts'
import { GEMINI_LOGPROBS } from './logprobs.ts'
import { fittedContent, geminiGenerateContent } from './native.ts'
import type { CandidateView } from './candidate.ts'
import { geminiLeaves, signerOf, traitsOf, isVertex } from '../../models/gemini-traits.ts'
import { GeminiReader } from './reader.ts'
import { geminiCredentials, geminiRequest, isSearching, geminiPath, geminiResource } from './request.ts'
import { geminiSpeech, geminiTranscription } from './sound.ts'
import { type AttemptFailure, failure } from '../../ports/attempt-failure.ts'
import type { LiftedJson } from '../../wire/lifted-json.ts'
import { geminiErrorEvent, isErrorBody } from './usage.ts'

/** Parameters of `generateContent`, by OpenRouter's names; an endpoint may list fewer. */
const PARAMETERS = [
  ...chatParameters(
    'top_k',
    'frequency_penalty',
    'presence_penalty',
    'seed',
    'logprobs',
    'top_logprobs',
    'n',
    'tool_choice',
    'modalities',
    'audio',
  ),
  'web_search_options',
]

const GEMINI_MODELS: ModelListProtocol = {
  request: (_provider, apiKey) => ({ path: '/models?pageSize=1000', headers: geminiCredentials(apiKey) }),
  entries: entriesIn('models'),
  model: (entry) => listedModel(entry, textOf(entry['name'])?.replace(/^models\//, '') ?? null),
}

/** Google's `generateContent`, `embedContent` and `predict`, in the Gemini API and in Vertex AI. */
export function createGemini({ transport, files, jobs }: AdapterPorts): Adapter {
  const chat = askChat(geminiProtocol, transport)
  const chatImages = imagesOverChat(chat, files)
  return {
    name: 'gemini',
    parameters: {
      ...NO_PARAMETERS,
      chat: PARAMETERS,
      embeddings: ['dimensions', 'input_type'],
      image: GEMINI_IMAGE_PARAMETERS,
      tts: ['voice', 'response_format', 'instructions'],
      transcription: ['language', 'prompt', 'temperature', 'response_format'],
      video: VIDEO_PARAMETERS,
    },
    chat,
    leaves: ({ upstreamModel }, request) => geminiLeaves(request, traitsOf(upstreamModel)),
    generateContent: geminiGenerateContent(transport),
    contentFit: ({ upstreamModel }, body) => fittedContent(body, upstreamModel),
    contentSigner: signerOf,
    chatImages,
    embeddings: askEmbeddings(geminiEmbed, transport),
    images: geminiImages({ transport, files, chatImages }),
    speech: geminiSpeech(transport),
    transcription: geminiTranscription(transport),
    models: askModels(GEMINI_MODELS, jobs),
  }
}

export const geminiProtocol: ChatProtocol = {
  request: geminiRequest,
  reader: (call) => new GeminiReader(viewOf(call)),
  logprobs: GEMINI_LOGPROBS,
  decoder: sseMessages,
}

function viewOf(call: ChatCall): CandidateView {
  return {
    generationId: call.generationId,
    candidates: call.request.n,
    hidesReasoning: reasoningWish(call.request.parameters).isHidden,
    signer: signerOf(call.endpoint),
    billsSearch: isSearching(call) ? traitsOf(call.endpoint.upstreamModel).billsSearch : null,
  }
}

function optionsOf(call: EmbeddingsCall): RawJson {
  const dimensions = dimensionsOf(call)
  const { inputType } = call.request
  return {
    ...(inputType === null ? {} : { taskType: TASK_TYPES.get(inputType) ?? inputType.toUpperCase() }),
    ...(dimensions === null ? {} : { outputDimensionality: dimensions }),
  }
}

function readPage(answer: LiftedJson): EmbeddingsPage | AttemptFailure {
  if (isErrorBody(answer.json)) return geminiErrorEvent(answer.json)
  const body = objectOf(answer.json) ?? {}
  const single = objectOf(body['embedding'])
  if (single === null && !Array.isArray(body['embeddings']))
    return failure('garbage', null, 'the answer holds no embeddings')
  const embeddings = single === null ? listOf(body['embeddings']) : [single]
  const vectors = vectorList(
    answer,
    embeddings.map((embedding) => objectOf(embedding)?.['values']),
  )
  return isFailure(vectors)
    ? vectors
    : { vectors, usage: tokensUsage(objectOf(body['usageMetadata']), 'promptTokenCount'), upstreamId: null }
}

const BATCH_MAX = 100

/** Names that other providers have for Google's tasks; Google's own names are accepted in upper and lower case. */
const TASK_TYPES: ReadonlyMap<string, string> = new Map([
  ['search_query', 'RETRIEVAL_QUERY'],
  ['query', 'RETRIEVAL_QUERY'],
  ['search_document', 'RETRIEVAL_DOCUMENT'],
  ['document', 'RETRIEVAL_DOCUMENT'],
  ['passage', 'RETRIEVAL_DOCUMENT'],
])

/** `batchEmbedContents` of the Gemini API. Vertex AI has no batches, so `embedContent` is called for each text. */
export const geminiEmbed: EmbeddingsProtocol = {
  batchMax: (call) => (isVertex(call.endpoint.provider) ? 1 : BATCH_MAX),
  request: (call, input) => {
    const texts = textsOf(input)
    const resource = geminiResource(call.endpoint.upstreamModel)
    const asked = texts.map((text) => ({
      ...(isVertex(call.endpoint.provider) ? {} : { model: resource }),
      content: { parts: [{ text }] },
      ...optionsOf(call),
    }))
    const path = geminiPath(resource)
    const headers = geminiCredentials(call.apiKey)
    return isVertex(call.endpoint.provider)
      ? { path: `${path}:embedContent`, body: asked[0] ?? {}, headers }
      : { path: `${path}:batchEmbedContents`, body: { requests: asked }, headers }
  },
  page: readPage,
}
