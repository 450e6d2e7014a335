/** A model as a provider lists it. */
export interface ListedModel {
  /** The provider's own name of it. */
  readonly id: string
  readonly name: string | null
  /** Tokens; null = the list does not say. */
  readonly contextLength: number | null
  readonly maxCompletionTokens: number | null
}

/**
 * What a provider answered to the question which models it has. `no_list`: its protocol has no such question.
 * `not_found`: nothing is at the address of the list. `no_token`: its `auth` got none.
 */
export const TRIAL_OUTCOMES = [
  'listed',
  'no_list',
  'refused',
  'no_token',
  'not_found',
  'limited',
  'rejected',
  'failed',
  'unreadable',
  'slow',
  'unknown_host',
  'private',
  'closed',
  'certificate',
  'unreachable',
] as const
export type TrialOutcome = (typeof TRIAL_OUTCOMES)[number]

export interface ProviderTrial {
  readonly outcome: TrialOutcome
  /** Of the provider's answer; null = there was none. */
  readonly status: number | null
  /** The provider's words, without secrets; of `private`, why it was not asked. */
  readonly said: string | null
  /** Empty unless `listed`. */
  readonly models: readonly ListedModel[]
}
