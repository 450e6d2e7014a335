import type { Dispatcher } from 'undici'
import type { EventAction } from '../ledger/event-action.ts'
import type { Clock } from '../lib/clock.ts'
import { fetchedJson } from '../lib/fetched.ts'
import { DAY_MS, HOUR_MS, isoDay } from '../lib/time.ts'
import type { EventStore } from '../store/events/event-store.ts'
import type { GenerationStore } from '../store/log/generation-store.ts'
import type { CatalogService } from './catalog-service.ts'
import type { Provider } from './catalog.ts'
import { parsePriceList, type PriceChange } from './price-list.ts'
import { thrownMessage } from '../lib/thrown-message.ts'
import { keyHeaders } from './dialect.ts'

const EVERY_MS = 6 * HOUR_MS
const TIMEOUT_MS = 30_000
const BYTES_MAX = 8 * 1_048_576
/** Changes of one provider that wait; more are found again once these are decided. */
const HELD_MAX = 200
const DECIDED_MAX = 200
const USED_DAYS = 30
const REASON_MAX = 300
const SYSTEM = { actor: 'system', ip: null } as const

export interface PriceFeedPorts {
  readonly catalog: CatalogService
  /** The newest event of a provider has the changes that wait. */
  readonly events: Pick<EventStore, 'append' | 'list'>
  readonly usage: Pick<GenerationStore, 'usersOf'>
  readonly clock: Clock
  /** Connects as to providers. */
  readonly dispatcher: Dispatcher
  readonly leads: () => boolean
  readonly log: (message: string) => void
}

/** Who decides or asks. */
export interface PriceActor {
  readonly actor: string
  readonly ip: string | null
}

/** What is known of the list of a provider. */
interface PriceState {
  readonly held: readonly PriceChange[]
  /** Ids of changes that a hand has rejected: they are not proposed again. */
  readonly rejected: readonly string[]
  readonly failed: boolean
}

export interface PriceRound {
  readonly provider: string
  readonly applied: readonly PriceChange[]
  readonly held: readonly PriceChange[]
  /** null = the list was read. */
  readonly failure: string | null
}

type Listed = Provider & Required<Pick<Provider, 'priceList'>>

/** Keeps the prices of providers with a `price_list` as their own lists have them; what is doubtful waits for a hand. */
export class PriceFeed {
  readonly #ports: PriceFeedPorts
  readonly #stop = new AbortController()
  #cancel: () => void = () => undefined
  #running: Promise<unknown> = Promise.resolve()

  constructor(ports: PriceFeedPorts) {
    this.#ports = ports
  }

  start(): void {
    if (this.#stop.signal.aborted) return
    this.#cancel = this.#ports.clock.after(EVERY_MS, () => this.start())
    if (this.#ports.leads()) void this.fetchLists(SYSTEM)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#cancel()
    await this.#running
  }

  /** Fetches every list now; one fetch follows another. */
  fetchLists(by: PriceActor): Promise<readonly PriceRound[]> {
    const round = this.#running.then(async () => {
      const rounds: PriceRound[] = []
      for (const provider of this.#providers())
        if (!this.#stop.signal.aborted) rounds.push(await this.#follow(provider, by))
      return rounds
    })
    this.#running = round.catch((thrown: unknown) => {
      this.#ports.log(`Prices of providers could not be followed: ${String(thrown)}`)
    })
    return round
  }

  /** The changes that wait for a hand. */
  async held(): Promise<readonly PriceChange[]> {
    const all: PriceChange[] = []
    for (const { slug } of this.#providers()) all.push(...(await this.#state(slug)).held)
    return all
  }

  /** null = there is no such change; `overtaken` = the price is no longer the one before. */
  async decide(id: string, isApproved: boolean, by: PriceActor): Promise<PriceChange | 'overtaken' | null> {
    const change = (await this.held()).find((one) => one.id === id)
    if (change === undefined) return null
    const { provider } = change
    const state = await this.#state(provider)
    const held = state.held.filter((one) => one.id !== id)
    if (!isApproved) {
      const rejected = [...state.rejected, id].slice(-DECIDED_MAX)
      await this.#note('prices.rejected', provider, { ...state, held, rejected }, by, [change])
      return change
    }
    const made = await this.#ports.catalog.applyPrices([change])
    // A crash before the event leaves a change that is made already; the next fetch no longer finds it.
    await this.#note('prices.approved', provider, { ...state, held }, by, made)
    return made.length === 0 ? 'overtaken' : change
  }

  #providers(): readonly Listed[] {
    return [...this.#ports.catalog.current().providers.values()].filter(isListed)
  }

  async #follow({ slug, baseUrl, apiKeys, dialect, priceList }: Listed, by: PriceActor): Promise<PriceRound> {
    const { catalog, log } = this.#ports
    const state = await this.#state(slug)
    try {
      const body = await fetchedJson(`${baseUrl}/models`, {
        headers: keyHeaders(dialect, apiKeys[0]),
        dispatcher: this.#ports.dispatcher,
        timeoutMs: TIMEOUT_MS,
        bytesMax: BYTES_MAX,
        stop: this.#stop.signal,
      })
      const list = parsePriceList(body)
      if (list === null) throw new Error('the answer is no list of prices')
      const changes = catalog.pricesAfter(slug, list, priceList.rise)
      const applied = await catalog.applyPrices(changes.filter(({ reason }) => reason === null))
      const held = changes
        .filter(({ reason, id }) => reason !== null && !state.rejected.includes(id))
        .slice(0, HELD_MAX)
      const next = { held, rejected: state.rejected, failed: false }
      const isOther = idsOf(held) !== idsOf(state.held)
      if (applied.length > 0)
        await this.#note('prices.applied', slug, isOther ? { ...next, held: state.held } : next, by, applied)
      if (isOther && held.length > 0) await this.#note('prices.held', slug, next, by, held)
      else if (isOther || (state.failed && applied.length === 0)) await this.#note('prices.applied', slug, next, by, [])
      return { provider: slug, applied, held, failure: null }
    } catch (thrown) {
      const failure = thrownMessage(thrown).slice(0, REASON_MAX)
      if (!this.#stop.signal.aborted && !state.failed) {
        log(`The prices of provider ${slug} could not be followed: ${failure}`)
        await this.#note('prices.failed', slug, { ...state, failed: true }, by, [], failure)
      }
      return { provider: slug, applied: [], held: state.held, failure }
    }
  }

  async #state(provider: string): Promise<PriceState> {
    const { data } = await this.#ports.events.list(1, 0, { action: 'prices.', object: provider })
    const after = data[0]?.after ?? null
    // Written by `#note` into a table whose rows never change.
    return after === null
      ? { held: [], rejected: [], failed: false }
      : (JSON.parse(after) as { state: PriceState }).state
  }

  async #note(
    action: EventAction,
    provider: string,
    state: PriceState,
    by: PriceActor,
    changes: readonly PriceChange[],
    reason?: string,
  ): Promise<void> {
    const { events, clock, usage } = this.#ports
    const models = [...new Set(changes.map(({ model }) => model))]
    const { total: accounts } = await usage.usersOf(models, usedSince(clock.now()), 1)
    const after = {
      changes: changes.length,
      accounts,
      ...(models[0] === undefined ? {} : { model: models[0] }),
      ...(reason === undefined ? {} : { reason }),
      // Those that wait are in the state.
      ...(action === 'prices.held' ? {} : { prices: changes }),
      state,
    }
    await events.append({
      ...by,
      atMs: clock.now(),
      action,
      object: provider,
      before: null,
      after: JSON.stringify(after),
    })
  }
}

/** The first of the last 30 days, by UTC. */
export function usedSince(nowMs: number): string {
  return isoDay(nowMs - USED_DAYS * DAY_MS)
}

function isListed(provider: Provider): provider is Listed {
  return provider.priceList !== undefined
}

function idsOf(changes: readonly PriceChange[]): string {
  return changes
    .map(({ id }) => id)
    .toSorted()
    .join(' ')
}
