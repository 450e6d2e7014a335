/** The facts of an adapter that the catalogue needs. */
export interface AdapterFacts {
  /**
   * The base address of a provider that gives no `base_url`; null = each provider must give one, empty = the adapter
   * uses no network.
   */
  readonly baseUrl: string | null
  /** The most web searches that a hold for one chat covers; absent = chat never asks this adapter for searches. */
  readonly searchesMax?: number
}

/** Gemini takes no limit on searches; no answer with more was ever seen, and one would be charged all the same. */
const GEMINI_SEARCHES_MAX = 8

/**
 * Every adapter. A new protocol is a row here and a folder of src/providers: the compiler asks for the folder in
 * src/providers/index.ts, and test/docs.test.ts for a row in docs/providers.md.
 */
export const ADAPTERS = {
  openai: { baseUrl: 'https://api.openai.com/v1', searchesMax: 1 },
  anthropic: { baseUrl: 'https://api.anthropic.com/v1' },
  gemini: { baseUrl: 'https://generativelanguage.googleapis.com/v1beta', searchesMax: GEMINI_SEARCHES_MAX },
  cohere: { baseUrl: 'https://api.cohere.com' },
  bedrock: { baseUrl: null },
  ollama: { baseUrl: 'http://127.0.0.1:11434' },
  deepgram: { baseUrl: 'https://api.deepgram.com/v1' },
  elevenlabs: { baseUrl: 'https://api.elevenlabs.io/v1' },
  replicate: { baseUrl: 'https://api.replicate.com/v1' },
  'ai-sdk': { baseUrl: null },
  sandbox: { baseUrl: '' },
} as const satisfies Readonly<Record<string, AdapterFacts>>

export type AdapterName = keyof typeof ADAPTERS

const FACTS: ReadonlyMap<string, AdapterFacts> = new Map(Object.entries(ADAPTERS))

/** The `base_url` of a provider that gives none; null = it must give one. */
export function defaultBaseUrl(adapter: string): string | null {
  return FACTS.get(adapter)?.baseUrl ?? null
}

/** The most web searches that a hold for one chat covers; 0 = chat never asks this adapter for searches. */
export function searchesMax(adapter: string): number {
  return FACTS.get(adapter)?.searchesMax ?? 0
}
