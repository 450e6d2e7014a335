import type { EventAction } from '../ledger/event-action.ts'
import type { Clock } from '../lib/clock.ts'
import { DAY_MS, isoDay } from '../base/time.ts'
import type { EventStore } from '../store/events/event-store.ts'
import type { GenerationStore } from '../store/log/generation-store.ts'
import type { BundleUpdate, CatalogService } from './catalog-service.ts'
import type { PriceChange } from './price-list.ts'

/** Changes of one provider that wait; more are found again once these are decided. */
const HELD_MAX = 200
const DECIDED_MAX = 200
const USED_DAYS = 30

export interface HeldPricesPorts {
  readonly catalog: CatalogService
  /** The newest event of a provider has the changes that wait. */
  readonly events: Pick<EventStore, 'append' | 'list'>
  readonly usage: Pick<GenerationStore, 'usersOf'>
  readonly clock: Clock
}

/** Who decides or asks. */
export interface PriceActor {
  readonly actor: string
  readonly ip: string | null
}

/** What is known of the prices of a provider. */
interface PriceState {
  readonly held: readonly PriceChange[]
  /** Ids of changes that a hand has rejected: they are not proposed again. */
  readonly rejected: readonly string[]
  /** Its list could not be used the last time. */
  readonly failed: boolean
}

/**
 * New prices that wait for a hand, whether a provider's own list or a release of the program brings them: what was
 * applied, what waits, and what was decided, each an event of the audit log.
 */
export class HeldPrices {
  readonly #ports: HeldPricesPorts

  constructor(ports: HeldPricesPorts) {
    this.#ports = ports
  }

  /** The changes that wait for a hand. */
  async held(): Promise<readonly PriceChange[]> {
    const { catalog } = this.#ports
    const listed = [...catalog.current().providers.values()].filter(({ priceList }) => priceList !== undefined)
    const all: PriceChange[] = []
    for (const slug of new Set([...listed.map((provider) => provider.slug), ...catalog.bundledProviders()]))
      all.push(...(await this.#state(slug)).held)
    return all
  }

  /** Notes the changes that were applied and keeps those that need a hand; answers those that wait. */
  async take(
    provider: string,
    applied: readonly PriceChange[],
    doubtful: readonly PriceChange[],
    by: PriceActor,
  ): Promise<readonly PriceChange[]> {
    const state = await this.#state(provider)
    const held = doubtful.filter(({ id }) => !state.rejected.includes(id)).slice(0, HELD_MAX)
    const next = { held, rejected: state.rejected, failed: false }
    const isOther = idsOf(held) !== idsOf(state.held)
    if (applied.length > 0)
      await this.#note('prices.applied', provider, isOther ? { ...next, held: state.held } : next, by, applied)
    if (isOther && held.length > 0) await this.#note('prices.held', provider, next, by, held)
    else if (isOther || (state.failed && applied.length === 0))
      await this.#note('prices.applied', provider, next, by, [])
    return held
  }

  /** Its list cannot be used: noted once until it can. Answers what waits, and whether it was noted. */
  async fail(
    provider: string,
    reason: string,
    by: PriceActor,
  ): Promise<{ readonly held: readonly PriceChange[]; readonly isNew: boolean }> {
    const state = await this.#state(provider)
    if (!state.failed) await this.#note('prices.failed', provider, { ...state, failed: true }, by, [], reason)
    return { held: state.held, isNew: !state.failed }
  }

  /** Takes this release's bundled models and the prices that need no hand; with `dryRun` only says what it would do. */
  async updateBundle(dryRun: boolean, by: PriceActor): Promise<Pick<BundleUpdate, 'lines' | 'held'>> {
    const { catalog } = this.#ports
    const { lines, applied, held: doubtful } = await catalog.updateBundle(dryRun)
    const held: PriceChange[] = []
    for (const provider of catalog.bundledProviders()) {
      const [made, waiting] = [applied, doubtful].map((all) => all.filter((one) => one.provider === provider))
      if (dryRun) {
        const { rejected } = await this.#state(provider)
        held.push(...(waiting ?? []).filter(({ id }) => !rejected.includes(id)))
      } else if (!catalog.hasPriceList(provider))
        held.push(...(await this.take(provider, made ?? [], waiting ?? [], by)))
    }
    return { lines, held }
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

  async #state(provider: string): Promise<PriceState> {
    const { data } = await this.#ports.events.list({ limit: 1, offset: 0 }, { action: 'prices.', object: provider })
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

function idsOf(changes: readonly PriceChange[]): string {
  return changes
    .map(({ id }) => id)
    .toSorted()
    .join(' ')
}
