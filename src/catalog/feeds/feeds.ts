import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import type { Store } from '../../store/store.ts'
import type { CatalogService } from '../catalog-service.ts'
import type { Provider } from '../catalog.ts'
import type { Feeds } from '../feed-ports.ts'
import type { HeldPrices } from '../held-prices.ts'
import type { DataSetAddresses } from './data-set-fetch.ts'
import { PriceFeed } from './price-feed.ts'
import { ProviderBalances } from './provider-balances.ts'
import { RateFeed } from './rate-feed.ts'

export interface FeedPorts {
  readonly catalog: CatalogService
  readonly store: Pick<Store, 'events' | 'notices'>
  readonly book: HeldPrices
  readonly clock: Clock
  readonly leads: () => boolean
  /** Returns a connection like those of requests to the provider. */
  readonly dispatcherOf: (provider: Provider) => Dispatcher
  /** The address of the Central Bank's daily rates. */
  readonly cbrUrl: string
  readonly dataSet: DataSetAddresses
  readonly log: (message: string) => void
}

/** Constructs the feeds; nothing is fetched before they are started. */
export function openFeeds({ cbrUrl: url, dataSet: addresses, store, ...ports }: FeedPorts): Feeds {
  const rates = new RateFeed({ ...ports, events: store.events, url })
  const balances = new ProviderBalances({ ...ports, store: store.notices })
  const prices = new PriceFeed({ ...ports, addresses })
  return {
    rates,
    prices,
    balances,
    start: () => {
      balances.start()
      prices.start()
    },
    stop: async () => {
      for (const feed of [rates, balances, prices]) await feed.stop()
    },
  }
}
