import { SDK_ADAPTER } from '../../catalog/sdk-package.ts'
import type { Adapter } from '../adapter.ts'
import type { FileFetch } from '../file-fetch.ts'
import type { Transport } from '../transport.ts'
import { SDK_PARAMETERS } from './call-options.ts'
import { SdkCall } from './sdk-call.ts'
import { SdkEmbeddings } from './sdk-embeddings.ts'
import { sdkImages } from './sdk-images.ts'
import { SdkPackages } from './sdk-packages.ts'
import { sdkSpeech } from './sdk-speech.ts'
import { sdkTranscription } from './sdk-transcription.ts'
import { sdkRerank } from './sdk-rerank.ts'

/**
 * Providers without an adapter of their own, through the packages of the Vercel AI SDK: the row of the catalogue names
 * the package.
 */
export function createAiSdk(transport: Transport, now: () => number, files: FileFetch): Adapter {
  const ports = { packages: new SdkPackages(), transport, now }
  return {
    name: SDK_ADAPTER,
    supportedParameters: SDK_PARAMETERS,
    chat: (call, sink) => new SdkCall(ports, call, sink),
    unitParameters: {
      embeddings: ['input_type'],
      rerank: ['top_n'],
      image: ['n', 'size', 'aspect_ratio', 'image', 'seed'],
      tts: ['voice', 'response_format', 'speed', 'instructions'],
      transcription: ['language', 'prompt', 'temperature', 'response_format', 'timestamp_granularities'],
    },
    embeddings: (call, sink) => new SdkEmbeddings(ports, call, sink),
    rerank: (call, sink) => sdkRerank(ports, call, sink),
    images: sdkImages({ ...ports, files }),
    speech: sdkSpeech(ports),
    transcription: sdkTranscription(ports),
  }
}
