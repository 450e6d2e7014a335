import { SDK_ADAPTER } from '../../catalog/sdk-package.ts'
import type { RerankAnswer } from '../../kinds/rerank.ts'
import { imagesOverChat } from '../answers/images-over-chat.ts'
import { NO_PARAMETERS, type Adapter, type AdapterPorts } from '../ports/adapter.ts'
import type { ResultSink, RunningCall } from '../ports/call.ts'
import { objectOf } from '../wire/raw-json.ts'
import { readRanking, type RerankCall } from '../upstream/rerank.ts'
import { SDK_PARAMETERS } from './call-options.ts'
import { sdkChat, sdkFitted } from './sdk-chat.ts'
import { SdkEmbeddings } from './sdk-embeddings.ts'
import { sdkImages } from './sdk-images.ts'
import { SdkPackages } from './sdk-packages.ts'
import { sdkSpeech, sdkTranscription } from './sdk-sound.ts'
import { sdkResult, type SdkPorts } from './sdk-run.ts'

/**
 * Providers without an adapter here, through the packages of the Vercel AI SDK; the catalogue row names the package.
 */
export function createAiSdk({ transport, files }: Pick<AdapterPorts, 'transport' | 'files'>): Adapter {
  const ports = { packages: new SdkPackages(), transport }
  const chat: NonNullable<Adapter['chat']> = (call, sink) => sdkChat(ports, call, sink)
  return {
    name: SDK_ADAPTER,
    parameters: {
      ...NO_PARAMETERS,
      chat: SDK_PARAMETERS,
      embeddings: ['input_type'],
      rerank: ['top_n'],
      image: ['n', 'size', 'aspect_ratio', 'image', 'seed'],
      tts: ['voice', 'response_format', 'speed', 'instructions'],
      transcription: ['language', 'prompt', 'temperature', 'response_format', 'timestamp_granularities'],
    },
    chat,
    leaves: (endpoint, request) => [...sdkFitted({ endpoint, request }).changed],
    chatImages: imagesOverChat(chat, files),
    embeddings: (call, sink) => new SdkEmbeddings(ports, call, sink),
    rerank: (call, sink) => sdkRerank(ports, call, sink),
    images: sdkImages({ ...ports, files }),
    speech: sdkSpeech(ports),
    transcription: sdkTranscription(ports),
  }
}

/** A ranking through a package. Its usage is only in the provider's own answer. */
function sdkRerank(ports: SdkPorts, call: RerankCall, sink: ResultSink<RerankAnswer>): RunningCall {
  return sdkResult<RerankAnswer>(ports, call, sink, async (settings) => {
    const { endpoint, request } = call
    const model = await ports.packages.rerankingModel(endpoint.provider, endpoint.upstreamModel, settings)
    const documents = { type: 'text' as const, values: [...request.documents] }
    const { ranking, response } = await model.doRerank({
      query: request.query,
      documents,
      ...(request.topN === null ? {} : { topN: request.topN }),
    })
    const said = objectOf(response?.body)
    return readRanking({ results: ranking, usage: said?.['usage'], meta: said?.['meta'], id: response?.id }, call)
  })
}
