import type { Clock } from '../lib/clock.ts'
import type { Adapter, AdapterTable } from './adapter.ts'
import { createAiSdk } from './ai-sdk/ai-sdk.ts'
import { createAnthropic } from './anthropic/anthropic.ts'
import { createBedrock } from './bedrock/bedrock.ts'
import { createCohere } from './cohere/cohere.ts'
import { createGemini } from './gemini/gemini.ts'
import { createJobHttp } from './job-http.ts'
import { createOllama } from './ollama/ollama.ts'
import { createOpenai } from './openai.ts'
import { createReplicate } from './replicate/replicate.ts'
import { createSandbox } from './sandbox.ts'
import { createTransport } from './transport.ts'

/** Every wire protocol there is, by the name the catalogue gives it. */
export function createAdapters({ clock }: { readonly clock: Clock }): { readonly adapters: AdapterTable; close(): Promise<void> } {
  const transport = createTransport({ clock })
  const jobs = createJobHttp({ clock })
  const now = (): number => clock.now()
  const adapters: readonly Adapter[] = [
    createOpenai(transport, jobs, now),
    createAnthropic(transport, now),
    createGemini(transport, jobs, now),
    createCohere(transport, now),
    createBedrock(transport, now),
    createOllama(transport, now),
    createAiSdk(transport, now),
    createReplicate(jobs, now),
    createSandbox(clock),
  ]
  return { adapters: new Map(adapters.map((adapter) => [adapter.name, adapter])), close: async () => void (await Promise.all([transport.close(), jobs.close()])) }
}
