import type { Dispatcher } from 'undici'
import type { Clock } from '../lib/clock.ts'
import { fetchedJson } from '../base/fetched.ts'
import { HOUR_MS } from '../base/time.ts'
import type { CatalogService } from './catalog-service.ts'
import type { Provider } from './catalog.ts'
import type { HeldPrices, PriceActor } from './held-prices.ts'
import { parsePriceList, priceListUrl } from './feeds/price-list-api.ts'
import type { PriceChange } from './price-list.ts'
import { thrownMessage } from '../lib/thrown-message.ts'
import { keyHeaders } from './dialect.ts'

/** How often it is looked whether something is due. */
const LOOK_MS = HOUR_MS
const LISTS_EVERY_MS = 6 * HOUR_MS
const TIMEOUT_MS = 30_000
const BYTES_MAX = 8 * 1_048_576
const REASON_MAX = 300
const SYSTEM = { actor: 'system', ip: null } as const

export interface PriceFeedPorts {
  readonly catalog: CatalogService
  readonly book: HeldPrices
  readonly clock: Clock
  /** Connects as to providers. */
  readonly dispatcher: Dispatcher
  readonly leads: () => boolean
  readonly log: (message: string) => void
}

export interface PriceRound {
  readonly provider: string
  readonly applied: readonly PriceChange[]
  readonly held: readonly PriceChange[]
  /** null = the list was read. */
  readonly failure: string | null
}

type Listed = Provider & Required<Pick<Provider, 'priceList'>>

/**
 * Keeps the prices of providers with a `price_list` as their own lists have them, and, where the setting asks for it,
 * the bundled ones as the release has them; what is doubtful waits for a hand.
 */
export class PriceFeed {
  /** What waits for a hand. */
  readonly book: HeldPrices
  readonly #ports: PriceFeedPorts
  readonly #stop = new AbortController()
  #cancel: () => void = () => undefined
  #running: Promise<unknown> = Promise.resolve()
  #isStarted = false
  #listedAtMs = Number.NEGATIVE_INFINITY
  #updatedAtMs = Number.NEGATIVE_INFINITY

  constructor(ports: PriceFeedPorts) {
    this.#ports = ports
    this.book = ports.book
    // A schedule that has just been set begins at once.
    ports.catalog.onChange(() => {
      if (this.#isStarted) this.#update()
    })
  }

  start(): void {
    if (this.#stop.signal.aborted) return
    this.#isStarted = true
    const { clock, leads } = this.#ports
    this.#cancel = clock.after(LOOK_MS, () => this.start())
    this.#update()
    const nowMs = clock.monotonic()
    if (!leads() || nowMs - this.#listedAtMs < LISTS_EVERY_MS) return
    this.#listedAtMs = nowMs
    void this.fetchLists(SYSTEM)
  }

  /** The bundled catalogue, where the setting asks for it and it is due. */
  #update(): void {
    const { clock, catalog, leads } = this.#ports
    const { hours } = catalog.current().settings.catalogUpdate
    const nowMs = clock.monotonic()
    if (this.#stop.signal.aborted || hours === 0 || !leads()) return
    if (nowMs - this.#updatedAtMs < hours * HOUR_MS) return
    this.#updatedAtMs = nowMs
    void this.#inTurn('The bundled catalogue could not be updated', () => this.book.updateBundle(false, SYSTEM))
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#cancel()
    await this.#running
  }

  /** Fetches every list now; one fetch follows another. */
  fetchLists(by: PriceActor): Promise<readonly PriceRound[]> {
    return this.#inTurn('Prices of providers could not be followed', async () => {
      const rounds: PriceRound[] = []
      const providers = [...this.#ports.catalog.current().providers.values()].filter(isListed)
      for (const provider of providers) if (!this.#stop.signal.aborted) rounds.push(await this.#follow(provider, by))
      return rounds
    })
  }

  #inTurn<T>(what: string, work: () => Promise<T>): Promise<T> {
    const round = this.#running.then(work)
    this.#running = round.catch((thrown: unknown) => this.#ports.log(`${what}: ${String(thrown)}`))
    return round
  }

  async #follow({ slug, baseUrl, apiKeys, dialect, priceList }: Listed, by: PriceActor): Promise<PriceRound> {
    const { catalog, log } = this.#ports
    try {
      const body = await fetchedJson(priceListUrl(priceList.api, baseUrl), {
        headers: keyHeaders(dialect, apiKeys[0]),
        dispatcher: this.#ports.dispatcher,
        timeoutMs: TIMEOUT_MS,
        bytesMax: BYTES_MAX,
        stop: this.#stop.signal,
      })
      const list = parsePriceList(priceList.api, body)
      if (list === null) throw new Error('the answer is no list of prices')
      const changes = catalog.pricesAfter(slug, list, priceList.rise)
      const applied = await catalog.applyPrices(changes.filter(({ reason }) => reason === null))
      const doubtful = changes.filter(({ reason }) => reason !== null)
      return { provider: slug, applied, held: await this.book.take(slug, applied, doubtful, by), failure: null }
    } catch (thrown) {
      const failure = thrownMessage(thrown).slice(0, REASON_MAX)
      if (this.#stop.signal.aborted) return { provider: slug, applied: [], held: [], failure }
      const { held, isNew } = await this.book.fail(slug, failure, by)
      if (isNew) log(`The prices of provider ${slug} could not be followed: ${failure}`)
      return { provider: slug, applied: [], held, failure }
    }
  }
}

function isListed(provider: Provider): provider is Listed {
  return provider.priceList !== undefined
}
