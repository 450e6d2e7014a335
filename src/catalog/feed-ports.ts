import type { HeldPrices, PriceActor } from './held-prices.ts'
import type { PriceChange } from './price-list.ts'

export interface PriceRound {
  readonly provider: string
  readonly applied: readonly PriceChange[]
  readonly held: readonly PriceChange[]
  /** null = the list was read. */
  readonly failure: string | null
}

export interface CatalogUpdate {
  readonly lines: readonly string[]
  readonly held: readonly PriceChange[]
  /** Why the published lists could not be read, and the release alone was taken; null = they were. */
  readonly failure: string | null
}

/** Prices and models that come from outside, as the operator asks for them. */
export interface PriceUpdates {
  /** What waits for a hand. */
  readonly book: HeldPrices
  /** Fetches the list of every provider that has one. */
  fetchLists(by: PriceActor): Promise<readonly PriceRound[]>
  /** Takes the release and the published lists now, or says what it would do. */
  updateBundle(dryRun: boolean, by: PriceActor): Promise<CatalogUpdate>
}

/** The money with a provider that one of its keys draws on. `key`: which, from 1. */
export interface BalanceReading {
  readonly provider: string
  readonly key: number
  readonly amount: number
  readonly currency: string
}

/** What the catalogue learns from outside while it runs: exchange rates, prices, models, and money with providers. */
export interface Feeds {
  /** Started by itself: the very first start waits for it. */
  readonly rates: { start(): Promise<void> }
  readonly prices: PriceUpdates
  readonly balances: { readings(): readonly BalanceReading[] }
  start(): void
  stop(): Promise<void>
}

/** Those of a program without the folder `feeds`: only a release brings prices, and rates are fixed. */
export function noFeeds(book: HeldPrices): Feeds {
  return {
    rates: { start: async () => undefined },
    prices: {
      book,
      fetchLists: async () => [],
      updateBundle: async (dryRun, by) => ({ ...(await book.updateBundle(dryRun, by)), failure: null }),
    },
    balances: { readings: () => [] },
    start: () => undefined,
    stop: async () => undefined,
  }
}
