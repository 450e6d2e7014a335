import type { Attempt } from './operation.ts'

/** One attempt at a provider, and how much of its answer has arrived. */
export interface Asked {
  readonly attempt: Attempt
  /**
   * From `headers` on, a cancelled answer may be billed; from `content` on, the client has a part of the answer, and no
   * other provider is asked.
   */
  heard: 'nothing' | 'headers' | 'content'
  /** The first bytes, until there is content among them. */
  head: Buffer[]
  headBytes: number
}

export type GenerationState =
  /** The price is held; no provider was asked yet. */
  | { readonly at: 'admitted' }
  /** It waits for a free place at its provider. */
  | { readonly at: 'queued' }
  /** The provider has just failed and will be asked again in a moment. */
  | { readonly at: 'paused'; readonly stop: () => void }
  /** A provider works on it. */
  | { readonly at: 'asking'; readonly asked: Asked }
  /** The provider has finished; its answer is checked, and its files are stored. */
  | { readonly at: 'answered'; readonly asked: Asked }
  /** Its end is decided and is being written to the ledger. */
  | { readonly at: 'ending' }
  /** The hold has ended, and the client has all that it gets. */
  | { readonly at: 'done' }

const NEXT: Readonly<Record<GenerationState['at'], readonly GenerationState['at'][]>> = {
  admitted: ['queued', 'ending'],
  queued: ['queued', 'paused', 'asking', 'ending'],
  paused: ['queued', 'ending'],
  asking: ['queued', 'paused', 'answered', 'ending'],
  answered: ['queued', 'paused', 'ending'],
  ending: ['done'],
  done: [],
}

export function mayBecome(state: GenerationState, next: GenerationState): boolean {
  return NEXT[state.at].includes(next.at)
}

/** The current attempt; null when no provider has the request. */
export function askedOf(state: GenerationState): Asked | null {
  return state.at === 'asking' || state.at === 'answered' ? state.asked : null
}
