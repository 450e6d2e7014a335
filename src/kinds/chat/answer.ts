import type { Usage } from '../../tables/meters.ts'

/** The parsed usage object of an OpenAI-shaped upstream; null = the upstream sent none. */
export interface UsageReport {
  readonly usage: Usage
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  /** Whether some figure was not a count: negative, beyond 2⁵³ or not a number. */
  readonly implausible: boolean
  /** The sides for which the provider reported no readable number, so that the operation counts them; absent = none. */
  readonly missing?: readonly UsageSide[]
}

/** A part of the usage that is counted separately. */
export type UsageSide = 'input' | 'output'

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error'

/** The facts that every chunk of an answer repeats. */
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
   * One for each choice, by index; the reason as in wire.md D-3.2. Other fields of the finishing chunk have gone to the
   * client in a separate chunk.
   */
  readonly finishes: readonly {
    readonly index: number
    readonly finish: FinishReason
    readonly native: string | null
  }[]
  /** Whether the provider, or its adapter by `finish`, gave a reason for the end of the first choice. */
  readonly isReasoned: boolean
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
  /** The service tier in our word; null = the provider did not say. */
  readonly serviceTier: string | null
  readonly hasContent: boolean
}

/** A complete, non-streaming answer in the shapes of wire.md 3.1. */
export interface ChatAnswer {
  readonly choices: readonly {
    readonly index: number
    readonly finish: FinishReason
    readonly native: string | null
    /**
     * role, content, refusal and, when non-empty, reasoning, reasoning_details, tool_calls, annotations, images, audio.
     */
    readonly message: Readonly<Record<string, unknown>>
    readonly logprobs: unknown
  }[]
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
  readonly serviceTier: string | null
  readonly systemFingerprint: string | null
  readonly hasContent: boolean
}
