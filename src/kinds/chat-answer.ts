import type { Usage } from '../meters.ts'

/** What the OpenAI-shaped usage object of an upstream becomes; null instead of a report when the upstream sent none. */
export interface UsageReport {
  readonly usage: Usage
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  /** Something in it was no count: negative, beyond 2⁵³ or no number at all. */
  readonly implausible: boolean
  /**
   * What the provider did not count, or not in a number that can be read: the order counts it. Absent where nothing is
   * missing.
   */
  readonly missing?: readonly UsageSide[]
}

/** A part of the usage that is counted by itself. */
export type UsageSide = 'input' | 'output'

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error'

/** What every client of an answer sees on each chunk. */
export interface ChunkIdentity {
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  /** Canonical model id. */
  readonly model: string
  /** Display name of the provider. */
  readonly provider: string
}

export interface StreamEnd {
  /**
   * One per choice, by index; finish by wire.md D-3.2. What the finishing chunk carried besides went to the client as a
   * chunk of its own.
   */
  readonly finishes: readonly {
    readonly index: number
    readonly finish: FinishReason | null
    readonly native: string | null
  }[]
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
  readonly hasContent: boolean
}

/** A complete, non-streaming answer in the shapes of wire.md 3.1. */
export interface ChatAnswer {
  readonly choices: readonly {
    readonly index: number
    readonly finish: FinishReason | null
    readonly native: string | null
    /** role, content, refusal and, when non-empty, reasoning, reasoning_details, tool_calls, annotations, images, audio. */
    readonly message: Readonly<Record<string, unknown>>
    readonly logprobs: unknown
  }[]
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
  readonly systemFingerprint: string | null
  readonly hasContent: boolean
}
