import { imagesOverChat } from '../../answers/images-over-chat.ts'
import { reasoningWish } from '../../answers/reasoning-wish.ts'
import { chatParameters, NO_PARAMETERS, type Adapter, type AdapterPorts } from '../../ports/adapter.ts'
import type { ChatCall } from '../../ports/call.ts'
import { VIDEO_PARAMETERS } from '../../upstream/videos.ts'
import { askEmbeddings } from '../../upstream/embeddings.ts'
import { askChat, sseMessages, type ChatProtocol } from '../../upstream/events.ts'
import { askModels, entriesIn, listedModel, type ModelListProtocol } from '../../upstream/models.ts'
import { textOf } from '../../wire/raw-json.ts'
import { geminiEmbed } from './embed.ts'
import { geminiImages, GEMINI_IMAGE_PARAMETERS } from './images.ts'
import { GEMINI_LOGPROBS } from './logprobs.ts'
import { fittedContent, geminiGenerateContent } from './native.ts'
import type { CandidateView } from './candidate.ts'
import { geminiLeaves, signerOf, traitsOf } from '../../models/gemini-traits.ts'
import { GeminiReader } from './reader.ts'
import { geminiCredentials, geminiRequest, isSearching } from './request.ts'
import { geminiSpeech, geminiTranscription } from './sound.ts'
import { veo } from './veo.ts'

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
    videos: veo(jobs),
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
