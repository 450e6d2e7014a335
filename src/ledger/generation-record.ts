import type { ErrorType } from '../errors.ts'
import type { Usage } from '../meters.ts'

export type GenerationStatus = 'completed' | 'error' | 'cancelled'
/**
 * `provider_cost`: it would have been free, had the account not used up what is free in an hour (reliability.md 3.5 row
 * 20).
 */
export type BillingBasis = 'provider_usage' | 'counted' | 'drained' | 'free' | 'provider_cost'

/** How an attempt fails: what the adapters and the relay know of it. */
export type AttemptReason =
  | 'connect'
  | 'saturated'
  | 'unsendable'
  | 'timeout'
  | 'stall'
  | 'status'
  | 'cut'
  | 'garbage'
  | 'error_event'
  | 'too_large'
  | 'cancelled'
  | 'empty'
/** Why an answer ended, whatever its provider calls it. */
export type EndReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error'

/** An attempt that failed: who, how and with which status; never what a provider said. */
export interface FailedAttemptNote {
  readonly provider: string
  readonly reason: AttemptReason
  readonly status: number | null
}

/** Longer than any that a provider gives: what it calls an answer is kept for years, and may be as long as the answer. */
const NAME_CHARS_MAX = 256

/** A provider's own word, as far as it is kept: cut, and without what no database takes as text. */
export function keptName(name: string | null): string | null {
  return name === null ? null : name.slice(0, NAME_CHARS_MAX).replaceAll('\0', '').toWellFormed()
}

/**
 * One row of the usage log: everything needed to explain and to replay a charge (wire.md 6, reliability.md I17). No
 * bodies, no secrets.
 */
export interface GenerationRecord {
  readonly generationId: string
  readonly accountId: string
  readonly keyId: string
  readonly requestId: string
  readonly type:
    | 'chat'
    | 'responses'
    | 'completions'
    | 'embeddings'
    | 'image'
    | 'tts'
    | 'transcription'
    | 'translation'
    | 'rerank'
    | 'video'
  readonly model: string
  readonly providerSlug: string | null
  readonly providerName: string | null
  readonly endpointId: string | null
  readonly upstreamId: string | null
  readonly status: GenerationStatus
  readonly errorType: ErrorType | null
  readonly finishReason: EndReason | null
  readonly nativeFinishReason: string | null
  /** What is charged by. */
  readonly usage: Usage
  /** What the provider reported and by that bills us; absent where it is the same. */
  readonly reportedUsage?: Usage
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens: number
  readonly billingBasis: BillingBasis
  /** The provider reported more than there can be, or no number that can be read. */
  readonly flagged: boolean
  readonly priceVersion: number
  /** Which of the endpoint's prices by resolution; absent where it has one. */
  readonly variant?: string
  readonly streamed: boolean
  readonly attempts: number
  /** Absent where none failed. */
  readonly failedAttempts?: readonly FailedAttemptNote[] | undefined
  /** ms from arrival to the first upstream event; null when none came. */
  readonly latencyMs: number | null
  readonly durationMs: number
  /** Unix ms of arrival. */
  readonly createdAtMs: number
  readonly appUrl: string | null
  readonly appTitle: string | null
  readonly sessionId: string | null
}
