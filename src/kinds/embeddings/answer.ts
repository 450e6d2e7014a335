import type { UsageReport } from '../chat/answer.ts'

/** Vectors of a provider, in the order of the inputs. */
export interface EmbeddingsAnswer {
  /**
   * Each in the JSON form that the client asked for: an array of numbers or base64 text. Empty where the provider gave
   * none.
   */
  readonly vectors: readonly Buffer[]
  /** null = the provider did not say. */
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
}
