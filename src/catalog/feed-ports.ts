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
  /** Why the published lists could not be read, so that only the release was taken; null = they were read. */
  readonly failure: string | null
}

/** Prices and models from outside, as the operator asks for them. */
export interface PriceUpdates {
  /** The changes that wait for a person's decision. */
  readonly book: HeldPrices
  /** Fetches the list of every provider that has one. */
  fetchLists(by: PriceActor): Promise<readonly PriceRound[]>
  /** Takes the release and the published lists now, or says what it would do. */
  updateBundle(dryRun: boolean, by: PriceActor): Promise<CatalogUpdate>
}

/** The balance with a provider of the account that a key belongs to. `key`: the position of the key, from 1. */
export interface BalanceReading {
  readonly provider: string
  readonly key: number
  readonly amount: number
  readonly currency: string
}

/** What the catalogue learns from outside: exchange rates, prices, models, and balances with providers. */
export interface Feeds {
  /** Started separately, since the very first start of a service waits for it. */
  readonly rates: { start(): Promise<void> }
  readonly prices: PriceUpdates
  readonly balances: { readings(): readonly BalanceReading[] }
  start(): void
  stop(): Promise<void>
}

/** The feeds of a program without the folder `feeds`: only a release brings prices, and rates are fixed. */
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
