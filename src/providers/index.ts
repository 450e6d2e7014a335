import type { Clock } from '../lib/clock.ts'
import type { Adapter, AdapterTable } from './adapter.ts'
import { createAiSdk } from './ai-sdk/ai-sdk.ts'
import { createAnthropic } from './anthropic/anthropic.ts'
import { createBedrock } from './bedrock/bedrock.ts'
import { createCohere } from './cohere/cohere.ts'
import { createDeepgram } from './deepgram/deepgram.ts'
import { createElevenlabs } from './elevenlabs/elevenlabs.ts'
import { FileFetch } from './file-fetch.ts'
import { createGemini } from './gemini/gemini.ts'
import { veo } from './gemini/veo.ts'
import { imagesOverChat } from './images-over-chat.ts'
import { createJobHttp } from './job-http.ts'
import { createOllama } from './ollama/ollama.ts'
import { openaiVideos } from './openai-videos.ts'
import { createOpenai } from './openai.ts'
import { replicateVideos } from './replicate/replicate.ts'
import { createSandbox } from './sandbox.ts'
import { sandboxVideos } from './sandbox-videos.ts'
import { createTransport } from './transport.ts'
import type { VideoUpstream } from './videos.ts'

/** Every wire protocol there is, by the name the catalogue gives it. */
export function createAdapters({ clock }: { readonly clock: Clock }): {
  readonly adapters: AdapterTable
  close(): Promise<void>
} {
  const transport = createTransport({ clock })
  const files = new FileFetch()
  const jobs = createJobHttp({ clock })
  const now = (): number => clock.now()
  const adapters: readonly Adapter[] = [
    createOpenai(transport, now, files),
    createAnthropic(transport, now),
    createGemini(transport, now, files),
    createCohere(transport, now),
    createBedrock(transport, now),
    createOllama(transport, now),
    createDeepgram(transport, now),
    createElevenlabs(transport, now),
    createAiSdk(transport, now, files),
    // It has jobs alone.
    { name: 'replicate', supportedParameters: [] },
    createSandbox(clock),
  ]
  const close = async (): Promise<void> => {
    await Promise.all([transport.close(), files.close(), jobs.close()])
  }
  const videos: Readonly<Record<string, VideoUpstream>> = {
    openai: openaiVideos(jobs, now),
    gemini: veo(jobs, now),
    replicate: replicateVideos(jobs, now),
    sandbox: sandboxVideos(clock),
  }
  return {
    adapters: new Map(
      adapters.map((adapter) => [adapter.name, filming(drawing(adapter, files), videos[adapter.name])]),
    ),
    close,
  }
}

/** Any protocol of chat may bring pictures. */
function drawing(adapter: Adapter, files: FileFetch): Adapter {
  return adapter.chat === undefined ? adapter : { ...adapter, chatImages: imagesOverChat(adapter.chat, files) }
}

function filming(adapter: Adapter, videos: VideoUpstream | undefined): Adapter {
  return videos === undefined
    ? adapter
    : { ...adapter, videos, unitParameters: { ...adapter.unitParameters, video: videos.supportedParameters } }
}
