import type { Micro } from '../../base/money.ts'

/** Sums of a day, key, model and app, or of a group of them. */
export interface SpendSums {
  readonly requests: number
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costMicro: Micro
  /** By prompt caches; below 0 where a provider asks more for what it has cached. */
  readonly savedMicro: Micro
}

export type SpendGroup = 'model' | 'key' | 'app'
