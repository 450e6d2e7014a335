import type { Endpoint } from '../../src/catalog/catalog.ts'
import type { UsageReport } from '../../src/kinds/chat/answer.ts'
import type { Plan } from '../../src/pay/plan/plan.ts'
import type { SimRequest } from './requests.ts'

/** One call of an attempt. */
export interface PartFacts {
  /** The last usage that the gateway has read. */
  usage: UsageReport | null
  /** The service tier that the gateway has read. */
  serviceTier: string | null
  ended: boolean
}

/** The facts of one provider's work for a request, recorded on its side of the wire. */
export interface AttemptFacts {
  readonly endpoint: Endpoint
  readonly startedMs: number
  /** One for each prompt if the provider takes one at a time. */
  readonly parts: PartFacts[]
  headers: boolean
  /** Output text that the gateway has read. */
  text: string
  /** The provider's finish reason of each choice. */
  readonly finishes: Map<number, string | null>
  outcome: 'running' | 'ended' | 'failed' | 'cancelled'
  /** The client was connected, or might still return, when the attempt ended. */
  clientPresent: boolean
  outcomeMs: number
  /** Its node had been told to stop by then. */
  nodeClosing: boolean
  /** It took longer than the gateway waits. */
  gaveUp: boolean
  /** The answer was an error. */
  erred: boolean
  /** It has had to wait for its reader. */
  slowed: boolean
}

/** The answer as the client saw it. */
export type Sight =
  | { readonly kind: 'nothing' }
  /** The whole answer; `cost` in RUB if the client could read it. */
  | { readonly kind: 'end'; readonly cost: number | null }
  | { readonly kind: 'error'; readonly name: string }
  | { readonly kind: 'broken' }

/** All facts of a request that are known without asking the gateway. */
export interface RequestFacts {
  readonly number: number
  readonly askedMs: number
  /** When it arrived by the clock of its node, Unix ms. */
  readonly arrivedAtMs: number
  readonly node: string
  readonly accountId: string
  readonly keyId: string
  readonly request: SimRequest
  generationId: string | null
  plan: Plan | null
  readonly attempts: AttemptFacts[]
  /** The client is connected; a client that returns is connected again. */
  present: boolean
  /** The client went away at least once. */
  left: boolean
  /** When it left for good, virtual ms: nothing of it is kept. */
  goneMs: number | null
  /** Until then, virtual ms, a client that left may come back to its stream. */
  graceUntilMs: number
  /** Its owner cancelled the stream. */
  cancelled: boolean
  /** When the gateway ended the generation, virtual ms. */
  doneMs: number | null
  sight: Sight
  /** It was refused by a node whose last batch had failed, or that was stopping. */
  excused: boolean
  /** Text that arrived at the client. */
  received: string
}
