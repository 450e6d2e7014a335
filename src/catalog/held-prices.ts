import type { EventAction } from '../ledger/event-action.ts'
import type { Clock } from '../base/clock.ts'
import { DAY_MS, isoDay } from '../base/time.ts'
import type { EventStore } from '../store/events/event-store.ts'
import type { GenerationStore } from '../store/log/generation-store.ts'
import { rejectionOf, type BundleUpdate } from './bundle-changes.ts'
import type { CatalogService } from './catalog-service.ts'
import type { ModelEntry } from './document.ts'
import { onTop, OvertakenError } from './catalog-state.ts'
import type { PriceChange } from './price-list.ts'

/** The most changes of one provider that wait; others are found again after these are decided. */
const HELD_MAX = 200
const DECIDED_MAX = 1_000
const USED_DAYS = 30
/** The prefix of the actions of price events. */
const ACTIONS = 'prices.'

export interface HeldPricesPorts {
  readonly catalog: CatalogService
  /** The newest event of a provider holds the changes that wait. */
  readonly events: Pick<EventStore, 'append' | 'list'>
  readonly usage: Pick<GenerationStore, 'usersOf'>
  readonly clock: Clock
}

/** The author of a decision or a question. */
export interface PriceActor {
  readonly actor: string
  readonly ip: string | null
}

/** Changes that were decided, and those that could not be any more. */
interface Decided {
  readonly decided: readonly PriceChange[]
  readonly overtaken: readonly PriceChange[]
}

/** The state of a provider's prices. */
interface PriceState {
  readonly held: readonly PriceChange[]
  /** Changes that a person has rejected (`rejectionOf`), which are not proposed again. */
  readonly rejected: readonly string[]
  /** Whether its list could not be used the last time. */
  readonly failed: boolean
  /** The id of the event with this state; 0 = there is none. */
  readonly noted: number
}

/**
 * New prices that wait for a person's decision, from a provider's own list or from a release of the program. Every
 * change that was applied, waits or was decided is an event of the audit log.
 */
export class HeldPrices {
  readonly #ports: HeldPricesPorts

  constructor(ports: HeldPricesPorts) {
    this.#ports = ports
  }

  /** The changes that wait for a person's decision. */
  async held(): Promise<readonly PriceChange[]> {
    const { catalog } = this.#ports
    const listed = [...catalog.current().providers.values()].filter(({ priceList }) => priceList !== undefined)
    const all: PriceChange[] = []
    for (const slug of new Set([...listed.map((provider) => provider.slug), ...catalog.bundledProviders()]))
      all.push(...(await this.#state(slug)).held)
    return all
  }

  /** Records the changes that were applied and stores those that need a person's decision; returns all that wait. */
  take(
    provider: string,
    applied: readonly PriceChange[],
    doubtful: readonly PriceChange[],
    by: PriceActor,
    about: Subject = 'prices',
  ): Promise<readonly PriceChange[]> {
    return this.#edit(provider, async (state) => {
      // Changes about other subjects stay, since one source says nothing about the others.
      const others = state.held.filter((one) => subjectOf(one) !== about)
      const known = new Set([...state.rejected, ...others.map(rejectionOf)])
      const isNew = (one: PriceChange): boolean => !known.has(rejectionOf(one))
      // If there are more changes than may wait, price changes come first.
      const all = [...others, ...doubtful.filter(isNew)]
      const held = all.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, HELD_MAX)
      const next = { ...state, held, failed: false }
      const isOther = idsOf(held) !== idsOf(state.held)
      if (applied.length > 0) {
        await this.#note('prices.applied', provider, isOther ? { ...next, held: state.held } : next, by, applied)
        return isOther ? this.take(provider, [], doubtful, by, about) : held
      }
      if (isOther && held.length > 0) await this.#note('prices.held', provider, next, by, held)
      else if (isOther || state.failed) await this.#note('prices.applied', provider, next, by, [])
      return held
    })
  }

  /**
   * Records once that the provider's list cannot be used. Returns the changes that wait, and whether this was recorded
   * now.
   */
  fail(
    provider: string,
    reason: string,
    by: PriceActor,
  ): Promise<{ readonly held: readonly PriceChange[]; readonly isNew: boolean }> {
    return this.#edit(provider, async (state) => {
      if (!state.failed) await this.#note('prices.failed', provider, { ...state, failed: true }, by, [], reason)
      return { held: state.held, isNew: !state.failed }
    })
  }

  /**
   * Takes this release's bundled models, and the prices that need no person's decision; with `dryRun` it only says what
   * would change.
   */
  async updateBundle(
    dryRun: boolean,
    by: PriceActor,
    set: readonly ModelEntry[] | null = null,
  ): Promise<Pick<BundleUpdate, 'lines' | 'held'>> {
    const { catalog } = this.#ports
    const { lines, applied, held: doubtful } = await catalog.updateBundle(dryRun, set)
    const held: PriceChange[] = []
    for (const provider of catalog.bundledProviders()) {
      const [made, waiting] = [applied, doubtful].map((all) => all.filter((one) => one.provider === provider))
      if (dryRun) {
        const { rejected } = await this.#state(provider)
        held.push(...(waiting ?? []).filter((one) => !rejected.includes(rejectionOf(one))))
      } else if (!this.#followsList(provider)) held.push(...(await this.take(provider, made ?? [], waiting ?? [], by)))
    }
    return { lines, held }
  }

  /**
   * Stores, for a person's decision, everything that this release and a data set would change; applies nothing. Returns
   * the changes that wait.
   */
  async look(set: readonly ModelEntry[], by: PriceActor): Promise<readonly PriceChange[]> {
    const { catalog } = this.#ports
    const { rows, prices } = catalog.bundleNews(set)
    for (const provider of catalog.bundledProviders()) {
      const [added, changed] = [rows, prices].map((all) => all.filter((one) => one.provider === provider))
      await this.take(provider, [], added ?? [], by, 'rows')
      if (!this.#followsList(provider)) await this.take(provider, [], changed ?? [], by)
    }
    return this.held()
  }

  /**
   * Decides the changes with these ids that wait; others are not in the answer. `overtaken`: another person has decided
   * a change meanwhile, or the price in force is no longer the one before it.
   */
  async decide(ids: ReadonlySet<string>, isApproved: boolean, by: PriceActor): Promise<Decided> {
    const wanted = (await this.held()).filter(({ id }) => ids.has(id))
    // An approval of `gone` deletes nothing: a person only acknowledges it.
    const isMade = ({ reason }: PriceChange): boolean => isApproved && reason !== 'gone'
    const decided: PriceChange[] = []
    for (const ofProvider of Map.groupBy(wanted, ({ provider }) => provider).values())
      for (const changes of Map.groupBy(ofProvider, isMade).values())
        decided.push(...(await this.#decideAlike(changes, changes.every(isMade), by)))
    return { decided, overtaken: wanted.filter((change) => !decided.includes(change)) }
  }

  /** Makes or rejects changes of one provider; returns those that are now as decided. */
  async #decideAlike(
    changes: readonly PriceChange[],
    isMade: boolean,
    by: PriceActor,
  ): Promise<readonly PriceChange[]> {
    const provider = changes[0]?.provider ?? ''
    // The event decides between two nodes, so it is written first. If the node dies before the change is made, the next
    // fetch finds the change again.
    const mine = await this.#edit(provider, async (state) => {
      const waiting = new Set(state.held.map(({ id }) => id))
      const taken = changes.filter(({ id }) => waiting.has(id))
      if (taken.length === 0) return taken
      const ids = new Set(taken.map(({ id }) => id))
      const held = state.held.filter(({ id }) => !ids.has(id))
      const rejected = isMade ? state.rejected : [...state.rejected, ...taken.map(rejectionOf)].slice(-DECIDED_MAX)
      const action = isMade ? 'prices.approved' : 'prices.rejected'
      await this.#note(action, provider, { ...state, held, rejected }, by, taken)
      return taken
    })
    return isMade && mine.length > 0 ? this.#made(provider, mine, by) : mine
  }

  /** Makes the changes whose price in force is still the one before; returns those. */
  async #made(provider: string, changes: readonly PriceChange[], by: PriceActor): Promise<readonly PriceChange[]> {
    try {
      const made = await this.#ports.catalog.applyPrices(changes, 'person')
      if (made.length === changes.length) return made
      await this.#edit(provider, (state) => this.#note('prices.applied', provider, state, by, [], 'overtaken'))
      return made
    } catch (thrown) {
      await this.#edit(provider, (state) =>
        this.#note('prices.held', provider, { ...state, held: [...state.held, ...changes] }, by, changes),
      )
      throw thrown
    }
  }

  /** Each try reads the state anew. */
  #edit<T>(provider: string, work: (state: PriceState) => Promise<T>): Promise<T> {
    return onTop(async () => work(await this.#state(provider)))
  }

  #followsList(slug: string): boolean {
    return this.#ports.catalog.current().providers.get(slug)?.priceList !== undefined
  }

  async #state(provider: string): Promise<PriceState> {
    const { data } = await this.#ports.events.list({ limit: 1, offset: 0 }, { action: ACTIONS, object: provider })
    const [newest] = data
    if (newest === undefined || newest.after === null) return { held: [], rejected: [], failed: false, noted: 0 }
    // Written by `#note` into a table whose rows never change.
    const { state } = JSON.parse(newest.after) as { readonly state: Omit<PriceState, 'noted'> }
    return { ...state, noted: newest.id }
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
    const { noted, ...kept } = state
    const after = {
      changes: changes.length,
      accounts,
      ...(models[0] === undefined ? {} : { model: models[0] }),
      ...(reason === undefined ? {} : { reason }),
      // Changes that wait are already in the state.
      ...(action === 'prices.held' ? {} : { prices: changes }),
      state: kept,
    }
    const event = { ...by, atMs: clock.now(), action, object: provider, before: null, after: JSON.stringify(after) }
    if (!(await events.append(event, { action: ACTIONS, id: noted })))
      throw new OvertakenError(`The prices of ${provider} were noted by another node.`)
  }
}

/**
 * The subject of a change: prices of known rows, what the published lists say about rows, or new models of the
 * provider's own list.
 */
type Subject = 'prices' | 'rows' | 'listed'

function subjectOf({ row, isListed }: PriceChange): Subject {
  return row === undefined ? 'prices' : isListed === true ? 'listed' : 'rows'
}

function rankOf(change: PriceChange): number {
  return change.row === undefined ? 0 : 1
}

/** The first of the last 30 days, by UTC. */
export function usedSince(nowMs: number): string {
  return isoDay(nowMs - USED_DAYS * DAY_MS)
}

function idsOf(changes: readonly PriceChange[]): string {
  return changes
    .map(({ id }) => id)
    .toSorted()
    .join(' ')
}
