import type { AdapterName } from '../catalog/adapters.ts'
import type { Clock } from '../lib/clock.ts'
import { createAiSdk } from './ai-sdk/ai-sdk.ts'
import { AnswerBudget } from './answer-budget.ts'
import { createAnthropic } from './anthropic/anthropic.ts'
import { createBedrock } from './bedrock/bedrock.ts'
import { createCohere } from './cohere/cohere.ts'
import { createDeepgram } from './deepgram/deepgram.ts'
import { createElevenlabs } from './elevenlabs/elevenlabs.ts'
import { createGemini } from './gemini/gemini.ts'
import { createOllama } from './ollama/ollama.ts'
import { createOpenai } from './openai/openai.ts'
import type { Adapter, AdapterPorts, AdapterTable } from './ports/adapter.ts'
import { createReplicate } from './replicate/replicate.ts'
import { createSandbox } from './sandbox/sandbox.ts'
import { FileFetch } from './wire/file-fetch.ts'
import { JobHttp } from './wire/job-http.ts'
import { Transport } from './wire/transport.ts'

export interface Adapters {
  readonly adapters: AdapterTable
  /** The budget for whole answers that all adapters share. */
  readonly answers: AnswerBudget
  close(): Promise<void>
}

/** Every adapter, by its name in the catalogue. */
const CREATE: Readonly<Record<AdapterName, (ports: AdapterPorts) => Adapter>> = {
  openai: createOpenai,
  anthropic: createAnthropic,
  gemini: createGemini,
  cohere: createCohere,
  bedrock: createBedrock,
  ollama: createOllama,
  deepgram: createDeepgram,
  elevenlabs: createElevenlabs,
  replicate: createReplicate,
  'ai-sdk': createAiSdk,
  sandbox: createSandbox,
}

export function createAdapters({ clock }: { readonly clock: Clock }): Adapters {
  const answers = new AnswerBudget()
  const transport = new Transport(clock, answers)
  const files = new FileFetch({ answers })
  const jobs = new JobHttp(clock, answers)
  const ports = { transport, files, jobs, clock, now: () => clock.now() }
  return {
    adapters: new Map(Object.entries(CREATE).map(([name, create]) => [name, create(ports)])),
    answers,
    close: async () => {
      await Promise.all([transport.close(), files.close(), jobs.close()])
    },
  }
}
