import type { Endpoint, Model, Snapshot } from '../catalog/catalog.ts'
import type { Micro } from '../base/money.ts'
import type { Affinity } from '../pay/plan/affinity.ts'
import type { AdapterParameters } from '../pay/plan/endpoint-filter.ts'
import type { EndpointHealth } from '../pay/plan/endpoint-order.ts'
import type { TokenCounter } from '../pay/plan/token-count.ts'

/** The facts that a plan of any kind needs besides the request. */
export interface PlanInput {
  readonly defaultModel: string | null
  /** Canonical ids; null = all. */
  readonly allowedModels: ReadonlySet<string> | null
  readonly snapshot: Snapshot
  /** Read just before. Only an omitted max_tokens depends on it; everything else is decided by the hold. */
  readonly funds: { readonly availableMicro: Micro; readonly keyRoomMicro: Micro | null }
  readonly health: EndpointHealth
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** Absent = the request belongs to no conversation. */
  readonly affinity?: Affinity | null
  readonly tokens: Pick<TokenCounter, 'countText' | 'countChat' | 'countTexts' | 'findLonger' | 'mostOfChat'>
  /** By adapter name; a missing adapter carries all parameters. */
  readonly adapters: AdapterParameters
}

/** One way to serve a request, with the output cap to send. */
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
  /** The worst case at the dearest candidate. */
  readonly holdMicro: Micro
  /** The output cap that every bound of usage is checked against; 0 where the kind has none. */
  readonly maxTokens: number
  /** True where maxTokens was computed (omitted or -1): shown as `X-Max-Tokens`. */
  readonly maxTokensComputed: boolean
  /** The input bound: an exact count, or bytes in its place. */
  readonly inputTokensBound: number
  /** Why the hold is more than the text and the answer can cost, in a sentence for a refusal; null = it is not more. */
  readonly holdReason?: () => string | null
}
