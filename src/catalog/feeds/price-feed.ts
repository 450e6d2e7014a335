import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import { fetchedJson } from '../../base/http-request.ts'
import { HOUR_MS } from '../../base/time.ts'
import { fetchDataSet, type DataSetAddresses } from './data-set-fetch.ts'
import { type ModelEntry, endpointId } from '../document.ts'
import type { CatalogService } from '../catalog-service.ts'
import type { Provider } from '../catalog.ts'
import type { CatalogUpdate, PriceRound, PriceUpdates } from '../feed-ports.ts'
import type { HeldPrices, PriceActor } from '../held-prices.ts'
import { listedModels, parsePriceList, priceListUrl, type NamedModel, type PriceList } from './price-list-api.ts'
import { thrownMessage } from '../../base/text.ts'
import { keyHeaders } from '../dialect.ts'
import type { PriceKey } from '../../tables/meter-table.ts'
import { endpointIds, rowChange } from '../bundle-changes.ts'
import type { CatalogState } from '../catalog-state.ts'
import { parseModelJson } from '../document-reader.ts'
import { entryOf } from '../offered-models.ts'
import { uncharged } from '../price-sheet.ts'
import type { PriceChange, PriceSource } from '../price-list.ts'
import { familyOf, guessedOutput } from './data-set-prices.ts'

/** How often the feed checks whether something is due. */
const LOOK_MS = HOUR_MS
const LISTS_EVERY_MS = 6 * HOUR_MS
const TIMEOUT_MS = 30_000
const BYTES_MAX = 8 * 1_048_576
const REASON_MAX = 300
/** The provider's name in events about the published lists. */
const DATA_SET = 'published-lists'
const SYSTEM = { actor: 'system', ip: null } as const

export interface PriceFeedPorts {
  readonly catalog: CatalogService
  readonly book: HeldPrices
  readonly clock: Clock
  /** Returns a connection like those of requests to the provider. */
  readonly dispatcherOf: (provider: Provider) => Dispatcher
  readonly leads: () => boolean
  /** The addresses of the published lists, of which a new catalogue is made. */
  readonly addresses: DataSetAddresses
  readonly log: (message: string) => void
}

type Listed = Provider & Required<Pick<Provider, 'priceList'>>

/**
 * Updates the prices of providers with a `price_list` from their own lists and, if the setting asks for it, the bundled
 * prices from the release. A doubtful price waits for a person's decision.
 */
export class PriceFeed implements PriceUpdates {
  /** The changes that wait for a person's decision. */
  readonly book: HeldPrices
  readonly #ports: PriceFeedPorts
  readonly #stop = new AbortController()
  #cancel: () => void = () => undefined
  #running: Promise<unknown> = Promise.resolve()
  #isStarted = false
  #listedAtMs = Number.NEGATIVE_INFINITY
  #updatedAtMs = Number.NEGATIVE_INFINITY
  #lookedAtMs: number
  /** Whether the published lists have been read since the start. */
  #hasRead = false

  constructor(ports: PriceFeedPorts) {
    this.#ports = ports
    this.book = ports.book
    // A server that restarts again and again makes no requests.
    this.#lookedAtMs = ports.clock.monotonic()
    // A schedule that has just been set takes effect at once.
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
    this.#look()
    const nowMs = clock.monotonic()
    if (!leads() || nowMs - this.#listedAtMs < LISTS_EVERY_MS) return
    this.#listedAtMs = nowMs
    void this.fetchLists(SYSTEM)
  }

  /** Updates the bundled catalogue if the setting asks for it and it is due. */
  #update(): void {
    const { clock, catalog, leads } = this.#ports
    const { hours } = catalog.current().settings.catalogUpdate
    const nowMs = clock.monotonic()
    if (this.#stop.signal.aborted || hours === 0 || !leads()) return
    if (nowMs - this.#updatedAtMs < hours * HOUR_MS) return
    this.#updatedAtMs = nowMs
    void this.#inTurn('The bundled catalogue could not be updated', async () => {
      const { set, failure } = await this.#dataSet(SYSTEM)
      // The release, which is older, does not undo what the lists have brought.
      if (failure === null || !this.#hasRead) await this.book.updateBundle(false, SYSTEM, set)
    })
  }

  /** Looks what a new catalogue would change, if the setting asks for it and it is due. */
  #look(): void {
    const { clock, catalog, leads } = this.#ports
    const { hours } = catalog.current().settings.catalogLook
    const nowMs = clock.monotonic()
    if (hours === 0 || !leads() || nowMs - this.#lookedAtMs < hours * HOUR_MS) return
    this.#lookedAtMs = nowMs
    void this.#inTurn('It could not be looked for a new catalogue', async () => {
      const { set } = await this.#dataSet(SYSTEM)
      if (set !== null && !this.#stop.signal.aborted) await this.book.look(set, SYSTEM)
    })
  }

  /** Takes the release and the published lists now, or says what that would change; one update follows another. */
  updateBundle(dryRun: boolean, by: PriceActor): Promise<CatalogUpdate> {
    return this.#inTurn('The bundled catalogue could not be updated', () => this.#updated(dryRun, by))
  }

  async #updated(dryRun: boolean, by: PriceActor): Promise<CatalogUpdate> {
    const { set, failure } = await this.#dataSet(by)
    return { ...(await this.book.updateBundle(dryRun, by, set)), failure }
  }

  async #dataSet(
    by: PriceActor,
  ): Promise<{ readonly set: readonly ModelEntry[] | null; readonly failure: string | null }> {
    const { catalog, clock, addresses, log } = this.#ports
    if (!catalog.asksLists()) return { set: null, failure: null }
    try {
      const set = await fetchDataSet(addresses, {
        ids: catalog.bundledIds(),
        nowMs: clock.now(),
        stop: this.#stop.signal,
      })
      await this.book.take(DATA_SET, [], [], by)
      this.#hasRead = true
      return { set, failure: null }
    } catch (thrown) {
      const failure = thrownMessage(thrown).slice(0, REASON_MAX)
      if (!this.#stop.signal.aborted && (await this.book.fail(DATA_SET, failure, by)).isNew)
        log(`The published lists of models could not be read: ${failure}`)
      return { set: null, failure }
    }
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

  async #follow(provider: Listed, by: PriceActor): Promise<PriceRound> {
    const { slug, baseUrl, apiKeys, dialect, priceList } = provider
    const { catalog, log } = this.#ports
    try {
      const body = await fetchedJson(priceListUrl(priceList.api, baseUrl), {
        headers: { ...keyHeaders(dialect, apiKeys[0]), ...dialect.headers },
        dispatcher: this.#ports.dispatcherOf(provider),
        timeoutMs: TIMEOUT_MS,
        bytesMax: BYTES_MAX,
        stop: this.#stop.signal,
      })
      const list = parsePriceList(priceList.api, body)
      if (list === null) throw new Error('the answer is no list of prices')
      const models = listedModels(priceList.api, body)
      const changes = catalog.changesBy(listSource(slug, list, priceList.rise), (state) =>
        listedRows(state, slug, list, models),
      )
      const applied = await catalog.applyPrices(
        changes.filter(({ reason }) => reason === null),
        'list',
      )
      const [doubtful, added] = [false, true].map((isRow) =>
        changes.filter(({ reason, row }) => reason !== null && (row !== undefined) === isRow),
      )
      await this.book.take(slug, applied, doubtful ?? [], by)
      return { provider: slug, applied, held: await this.book.take(slug, [], added ?? [], by, 'listed'), failure: null }
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

const CURRENCY = 'USD'
/** The most new models of one provider's list that wait at once. */
const LISTED_MAX = 50

/** A provider's own list, in dollars. */
export function listSource(provider: string, list: PriceList, risePercent: number): PriceSource {
  return {
    risePercent,
    keepsConditions: true,
    priceOf: (_model, endpoint) => {
      const listed = endpoint.provider === provider ? list.get(endpoint.model) : undefined
      if (listed === undefined) return null
      // A list has one price; a row's price by size stays as it is.
      const plain = Object.entries(listed).filter(([key]) => typeof endpoint.price[key as PriceKey] !== 'object')
      return { ...Object.fromEntries(plain), currency: CURRENCY }
    },
  }
}

/**
 * Models of a provider's own list that nobody sells here, each for a person to decide: those with a price and a window.
 * The newest come first, and no more than a person can look through.
 */
export function listedRows(
  state: CatalogState,
  provider: string,
  prices: PriceList,
  models: readonly NamedModel[],
): readonly PriceChange[] {
  const known = [...state.own.models, ...state.base.models]
  const ids = new Set([...known.map(({ id }) => id), ...(state.own.bundled_except ?? [])])
  const routes = new Set(endpointIds(known).keys())
  const rows = models.flatMap((model): readonly PriceChange[] => {
    const { currency, ...listed } = { currency: CURRENCY, ...prices.get(model.id) }
    const { max_completion_tokens: most, ...entry } = entryOf(provider, model)
    const { type, context_length: context } = entry
    const isKnown = model.names.some((name) => routes.has(endpointId({ provider, model: name })))
    if (isKnown || ids.has(entry.id) || model.contextLength === null || context === undefined) return []
    const uses = { listed: [], native: false }
    const charged = Object.entries(listed).filter(([key]) => !uncharged(type, key, uses))
    const chat = most ?? guessedOutput(familyOf(entry.id), context, null)
    const { entry: row, problems } = parseModelJson({
      ...entry,
      ...(type === 'chat' ? { max_completion_tokens: chat } : {}),
      ...(type === 'chat' && most === undefined ? { guessed: ['max_completion_tokens'] } : {}),
      endpoints: [{ provider, model: model.id, price: { ...Object.fromEntries(charged), currency } }],
    })
    const [endpoint] = row.endpoints
    if (problems.length > 0 || endpoint === undefined) return []
    ids.add(row.id)
    return [{ ...rowChange('new_model', row, endpoint, null), isListed: true }]
  })
  return rows.slice(0, LISTED_MAX)
}
