import type { Endpoint, Model, Snapshot } from '../catalog/catalog.ts'
import type { Micro } from '../money.ts'

/** One way to serve a request, with the output cap it would be sent. */
export interface Candidate {
  readonly model: Model
  readonly endpoint: Endpoint
  /** Output tokens to ask for; null = send none (the provider's default is its maximum). */
  readonly sendMaxTokens: number | null
}

/** A priced request: who may serve it, in order, and the most it may cost. Nothing reaches a provider without one. */
export interface Plan {
  readonly snapshot: Snapshot
  readonly candidates: readonly Candidate[]
  /** Worst case at the dearest candidate. */
  readonly holdMicro: Micro
  /** Output cap every bound of usage is checked against. */
  readonly maxTokens: number
  /** True where maxTokens was computed (omitted or -1): shown as `X-Max-Tokens`. */
  readonly maxTokensComputed: boolean
  /** The input bound: an exact count, or bytes standing for it. */
  readonly inputTokensBound: number
}
