import type { AdapterFacts, KnownAdapters } from '../catalog/catalog.ts'
import { uniform } from '../base/rendezvous.ts'
import { createAiSdk } from './ai-sdk/ai-sdk.ts'
import { AnswerBudget } from './answer-budget.ts'
import { TokenCache, type TokenPorts } from './auth/token-cache.ts'
import { createAnthropic } from './anthropic/provider/anthropic.ts'
import { createBedrock } from './bedrock/bedrock.ts'
import { createCohere } from './cohere/provider/cohere.ts'
import { createDeepgram } from './deepgram/deepgram.ts'
import { createElevenlabs } from './elevenlabs/elevenlabs.ts'
import { createGemini } from './gemini/provider/gemini.ts'
import { createGigachat } from './gigachat/gigachat.ts'
import { createOllama } from './ollama/provider/ollama.ts'
import { createOpenai } from './openai/provider/openai.ts'
import type { Adapter, AdapterPorts, AdapterTable } from './ports/adapter.ts'
import { createReplicate } from './replicate/replicate.ts'
import { createSandbox } from './sandbox/sandbox.ts'
import { createYandex } from './yandex/yandex.ts'
import { FileFetch } from './wire/file-fetch.ts'
import { JobHttp } from './wire/job-http.ts'
import { Transport } from './wire/transport.ts'

export interface Adapters {
  readonly adapters: AdapterTable
  /** What they are built from, for kinds that bring their own sides of adapters. */
  readonly upstream: AdapterPorts
  /** The memory budget for plain answers that all adapters share. */
  readonly answers: AnswerBudget
  /** Tokens of providers with an `auth`. */
  readonly providerTokens: TokenCache
  close(): Promise<void>
}

/** Gemini takes no limit on searches. No answer with more was seen; if one came, all would be charged. */
const GEMINI_SEARCHES_MAX = 8

interface Protocol extends AdapterFacts {
  readonly create: (ports: AdapterPorts) => Adapter
}

/** Every adapter, by its name in the catalogue. A new protocol is a folder next to this file and a row here. */
const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  openai: { create: createOpenai, baseUrl: 'https://api.openai.com/v1', searchesMax: 1 },
  anthropic: { create: createAnthropic, baseUrl: 'https://api.anthropic.com/v1' },
  gemini: {
    create: createGemini,
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    searchesMax: GEMINI_SEARCHES_MAX,
  },
  cohere: { create: createCohere, baseUrl: 'https://api.cohere.com' },
  bedrock: { create: createBedrock, baseUrl: null },
  ollama: { create: createOllama, baseUrl: 'http://127.0.0.1:11434' },
  deepgram: { create: createDeepgram, baseUrl: 'https://api.deepgram.com/v1' },
  elevenlabs: { create: createElevenlabs, baseUrl: 'https://api.elevenlabs.io/v1' },
  replicate: { create: createReplicate, baseUrl: 'https://api.replicate.com/v1' },
  gigachat: { create: createGigachat, baseUrl: 'https://gigachat.devices.sberbank.ru/api/v1' },
  yandex: { create: createYandex, baseUrl: 'https://llm.api.cloud.yandex.net' },
  'ai-sdk': { create: createAiSdk, baseUrl: null },
  sandbox: { create: createSandbox, baseUrl: '' },
}
export const KNOWN_ADAPTERS: KnownAdapters = new Map(Object.entries(PROTOCOLS))

export function createAdapters({
  clock,
  env = {},
  share,
}: Pick<TokenPorts, 'clock' | 'share'> & Partial<Pick<TokenPorts, 'env'>>): Adapters {
  const answers = new AnswerBudget()
  const providerTokens = new TokenCache({ clock, env, random: uniform, ...(share === undefined ? {} : { share }) })
  const transport = new Transport(clock, answers, providerTokens)
  const files = new FileFetch({ answers })
  const jobs = new JobHttp(clock, answers, providerTokens)
  const upstream = { transport, files, jobs, clock }
  return {
    adapters: new Map(Object.entries(PROTOCOLS).map(([name, { create }]) => [name, create(upstream)])),
    upstream,
    answers,
    providerTokens,
    close: async () => {
      await Promise.all([transport.close(), files.close(), jobs.close(), providerTokens.close()])
    },
  }
}
