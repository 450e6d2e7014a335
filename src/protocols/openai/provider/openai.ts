import { imagesOverChat } from '../../answers/images-over-chat.ts'
import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../../ports/adapter.ts'
import type { ChatCall, UpstreamRequest } from '../../ports/call.ts'
import { askChat, sseMessages, type EventReader } from '../../upstream/events.ts'
import { askRerank, readRanking, topNField, type RerankProtocol } from '../../upstream/rerank.ts'
import { askEmbeddings } from '../../upstream/embeddings.ts'
import { textOf } from '../../wire/raw-json.ts'
import { openaiCompletions } from './completions.ts'
import { openaiEmbeddings } from './embeddings.ts'
import { imageEditsOf } from './image-traits.ts'
import { OPENAI_IMAGE_PARAMETERS, openaiImages } from './images.ts'
import { OPENAI_PARAMETERS, openaiBytes, openaiReasoning } from './request.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../upstream/models.ts'
import { asksStream, fittedRequest } from './quirks.ts'
import { openaiModerations } from './moderations.ts'
import { openaiResponses } from '../../responses/provider/responses.ts'
import { openaiSpeech } from './speech.ts'
import { OpenaiReader } from './reader.ts'
import { openaiTranscription } from './transcription.ts'
import { OPENAI_VIDEO_PARAMETERS, openaiVideos } from './videos.ts'
import { keyHeaders } from '../../../catalog/dialect.ts'

const CHAT_PATH = '/chat/completions'
const OPENROUTER = 'openrouter.ai'

/** OpenAI's protocol and every dialect of it. */
export function createOpenai({ transport, files, jobs }: AdapterPorts): Adapter {
  const chat = askChat(openaiChat, transport)
  return {
    name: 'openai',
    parameters: {
      ...NO_PARAMETERS,
      chat: OPENAI_PARAMETERS,
      embeddings: ['dimensions', 'encoding_format', 'input_type', 'user'],
      rerank: ['top_n'],
      image: OPENAI_IMAGE_PARAMETERS,
      tts: ['voice', 'response_format', 'speed', 'instructions', 'stream_format'],
      transcription: ['language', 'prompt', 'temperature', 'response_format', 'timestamp_granularities'],
      video: OPENAI_VIDEO_PARAMETERS,
    },
    chat,
    leaves: (endpoint, request) => [
      ...(Object.keys(openaiReasoning(endpoint, request, null)).length > 0 ? [] : ['reasoning']),
      ...fittedRequest(request, endpoint).changed,
    ],
    chatImages: imagesOverChat(chat, files),
    completions: openaiCompletions(transport),
    responses: openaiResponses(transport),
    embeddings: askEmbeddings(openaiEmbeddings, transport),
    rerank: askRerank(openaiRerank, transport),
    moderations: openaiModerations(transport),
    images: openaiImages({ transport, files }),
    imageEdits: imageEditsOf,
    speech: openaiSpeech(transport),
    transcription: openaiTranscription(transport),
    videos: openaiVideos(jobs),
    models: askModels(OPENAI_MODELS, jobs),
  }
}

const OPENAI_MODELS: ModelListProtocol = {
  request: (provider, apiKey) => ({
    // OpenRouter's public list would also answer a wrong key.
    path: `/models${new URL(provider.baseUrl).host === OPENROUTER ? '/user' : ''}${provider.dialect.query}`,
    headers: keyHeaders(provider.dialect, apiKey),
  }),
  entries: entriesIn('data'),
  model: (entry) => listedModel(entry, textOf(entry['id'])),
}

/** How a chat is asked for, and its answer read. */
export const openaiChat = {
  request: (call: ChatCall): UpstreamRequest => ({
    path: CHAT_PATH + call.endpoint.provider.dialect.query,
    body: openaiBytes(call),
    headers: keyHeaders(call.endpoint.provider.dialect, call.apiKey),
  }),
  reader: (call: ChatCall): EventReader => new OpenaiReader(call),
  decoder: sseMessages,
  streams: ({ request, endpoint }: ChatCall): boolean => asksStream(request, endpoint.dialect),
}

/** `/rerank` of OpenRouter, Jina, Together, Voyage and others. The documents are not requested back: we have them. */
const openaiRerank: RerankProtocol = {
  request: (call) => {
    const { endpoint, request } = call
    const { dialect } = endpoint.provider
    return {
      path: `/rerank${dialect.query}`,
      body: {
        model: endpoint.upstreamModel,
        query: request.query,
        documents: request.documents,
        ...topNField(call, dialect.names['top_n']),
      },
      headers: keyHeaders(call.endpoint.provider.dialect, call.apiKey),
    }
  },
  answer: readRanking,
}
