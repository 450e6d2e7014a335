import type { Endpoint, Model, Snapshot } from '../../catalog/catalog.ts'
import { type Micro, kopeckText, rubles } from '../../base/money.ts'
import type { AdapterParameters, Affinity, EndpointHealth } from './endpoint-order.ts'
import type { TokenCounter } from './token-count.ts'
import { ApiError } from '../../base/errors.ts'
import type { ChosenModel } from './model-choice.ts'

/** The remedies that a refusal names, and the reason for a large amount. */
interface Remedy {
  /** Whether fewer max_tokens would make the request cheaper. */
  readonly tokens: boolean
  readonly reason?: string | null
}

/**
 * The 402 of wire.md D-10.4. It has the exact amount, so that the relay can name the key's limit if that is the bound.
 */
export class InsufficientBalanceError extends ApiError {
  readonly requiredMicro: Micro
  readonly availableMicro: Micro

  constructor(requiredMicro: Micro, availableMicro: Micro, { tokens, reason = null }: Remedy) {
    const bounded = availableMicro < 0n ? 0n : availableMicro
    const remedies = tokens
      ? 'Top up your balance, lower max_tokens or choose a cheaper model.'
      : 'Top up your balance or choose a cheaper model.'
    const message = `Insufficient balance: required ${kopeckText(requiredMicro, 'up')} RUB, available ${kopeckText(bounded, 'down')} RUB. ${remedies}${reason === null ? '' : ` ${reason}`}`
    super('insufficient_balance', message, {
      metadata: { required: rubles(requiredMicro), available: rubles(bounded), currency: 'RUB' },
    })
    this.requiredMicro = requiredMicro
    this.availableMicro = bounded
  }
}

/** The facts besides the request that every kind of plan needs. */
export interface PlanInput {
  readonly defaultModel: string | null
  /** Canonical ids; null = all. */
  readonly allowedModels: ReadonlySet<string> | null
  readonly snapshot: Snapshot
  /** Unix ms of the request's arrival, which decides prices by the hour. */
  readonly atMs: number
  /** Read just before the plan. Only an omitted max_tokens depends on them; the hold decides everything else. */
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
  /** The number of output tokens to ask for; null = none is sent, since the provider's default is its maximum. */
  readonly sendMaxTokens: number | null
}

/**
 * A priced request: which endpoints may serve it, in order, and the most that it may cost. Nothing reaches a provider
 * without one.
 */
export interface Plan {
  readonly snapshot: Snapshot
  readonly atMs: number
  readonly candidates: readonly Candidate[]
  /** The worst case at the dearest candidate. */
  readonly holdMicro: Micro
  /** The output cap against which every bound of usage is checked; 0 = the kind has none. */
  readonly maxTokens: number
  /** Whether maxTokens was computed (omitted or -1); it is then shown as `X-Max-Tokens`. */
  readonly maxTokensComputed: boolean
  /**
   * Whether an answer may be charged for more than is held, since the hold only estimates what the provider alone can
   * count. Such a request is refused to an account whose free hour is used up (guarantees.md rule 20).
   */
  readonly mayExceed: boolean
  /** Whether the plan includes the parts of the request that only some endpoints serve; absent = it does not. */
  readonly isSpecial?: boolean
  /** The bound of the input: an exact count, or the bytes in its place. */
  readonly inputTokensBound: number
  /**
   * Why the hold is more than the text and the answer can cost, as a sentence for a refusal; null or absent = it is not
   * more.
   */
  readonly holdReason?: string | null
}

/**
 * The models that can serve the request, in order. A fallback model that cannot is left out; if none can, the first
 * model's refusal is thrown.
 */
export function servingRoutes<Route extends { readonly endpoints: readonly Endpoint[] }>(
  chosen: readonly ChosenModel[],
  health: EndpointHealth,
  routeOf: (choice: ChosenModel) => Route,
): readonly Route[] {
  const routes: Route[] = []
  let refusal: ApiError | null = null
  for (const choice of chosen) {
    try {
      routes.push(routeOf(choice))
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown
      refusal ??= thrown
    }
  }
  if (routes.length === 0 && refusal !== null) throw refusal
  // An ejected endpoint is not a candidate (guarantees.md 5) while another model of the request can answer.
  const isOut = ({ endpoints }: Route): boolean => endpoints.every(({ id }) => health.ejected(id))
  return routes.length === 1 ? routes : [...routes.filter((route) => !isOut(route)), ...routes.filter(isOut)]
}
