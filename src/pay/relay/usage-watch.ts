import type { EventAction } from '../../ledger/event-action.ts'
import type { GenerationRecord } from '../../ledger/generation-record.ts'
import type { Clock } from '../../base/clock.ts'
import type { Micro } from '../../base/money.ts'
import { DAY_MS, HOUR_MS } from '../../base/time.ts'
import type { Prices } from '../../catalog/catalog.ts'
import { pricesTier } from '../plan/parameter-costs.ts'
import { PLAIN_TIER } from '../../tables/service-tier-table.ts'

/** If more than this part of the answers in an hour are flagged, an event is written: 0.1 %. */
const FLAGGED_PARTS = 1_000

export interface UsageWatchPorts {
  readonly clock: Clock
  /** Writes an event to the audit log; it is lost while the store is down. */
  readonly event: (action: EventAction, object: string, detail: Readonly<Record<string, unknown>>) => void
}

export type Answered = Pick<
  GenerationRecord,
  'providerSlug' | 'model' | 'flagged' | 'generationId' | 'endpointId' | 'serviceTier'
>

interface Hour {
  requests: number
  flagged: number
  told: boolean
}

/**
 * Watches for costs that providers bill and customers do not pay. They are counted for the metrics and written as
 * events, each at most once an hour.
 */
export class UsageWatch {
  readonly #ports: UsageWatchPorts
  readonly #flagged = new Map<string, number>()
  readonly #shortfalls = new Map<string, Micro>()
  #hourMs = 0
  readonly #hours = new Map<string, Hour>()
  readonly #toldShortfalls = new Set<string>()
  /** When the event about an endpoint's tier was last written. */
  readonly #toldTiers = new Map<string, number>()

  constructor(ports: UsageWatchPorts) {
    this.#ports = ports
  }

  /**
   * The number of flagged answers since the start, by provider. Each of `providers` is listed from the beginning, with
   * 0: an alert sees a counter rise, but not that one is new.
   */
  flagged(providers: Iterable<string>): readonly { readonly provider: string; readonly count: number }[] {
    return named(providers, this.#flagged).map((provider) => ({ provider, count: this.#flagged.get(provider) ?? 0 }))
  }

  /** The cost of answers beyond their holds and balances since the start, listed in the same way. */
  shortfalls(providers: Iterable<string>): readonly { readonly provider: string; readonly micro: Micro }[] {
    return named(providers, this.#shortfalls).map((provider) => ({
      provider,
      micro: this.#shortfalls.get(provider) ?? 0n,
    }))
  }

  /** Counts a settled answer; `prices` are those of its endpoint. */
  settled(record: Answered, shortfallMicro: Micro, prices: Pick<Prices, 'conditions'> = {}): void {
    this.#roll()
    const { serviceTier = PLAIN_TIER } = record
    if (serviceTier !== PLAIN_TIER && !pricesTier(prices, serviceTier)) this.#tellTier(record, serviceTier)
    this.#countFlagged(record)
    if (shortfallMicro > 0n) this.#countShortfall(record, shortfallMicro)
  }

  #roll(): void {
    const hourMs = Math.floor(this.#ports.clock.now() / HOUR_MS) * HOUR_MS
    if (hourMs === this.#hourMs) return
    this.#hourMs = hourMs
    this.#hours.clear()
    this.#toldShortfalls.clear()
  }

  /** Writes an event once a day for each endpoint. */
  #tellTier({ providerSlug, endpointId, model, generationId }: Answered, serviceTier: string): void {
    const key = `${endpointId} ${serviceTier}`
    const nowMs = this.#ports.clock.now()
    const toldMs = this.#toldTiers.get(key) ?? -DAY_MS
    if (nowMs - toldMs < DAY_MS) return
    for (const [told, atMs] of this.#toldTiers) if (nowMs - atMs >= DAY_MS) this.#toldTiers.delete(told)
    this.#toldTiers.set(key, nowMs)
    this.#ports.event('usage.tier_unpriced', providerSlug ?? '', {
      model,
      endpoint: endpointId,
      service_tier: serviceTier,
      generation: generationId,
    })
  }

  #countFlagged({ providerSlug, flagged, generationId }: Answered): void {
    const provider = providerSlug ?? ''
    const hour = this.#hours.get(provider) ?? { requests: 0, flagged: 0, told: false }
    this.#hours.set(provider, hour)
    hour.requests += 1
    if (!flagged) return
    hour.flagged += 1
    this.#flagged.set(provider, (this.#flagged.get(provider) ?? 0) + 1)
    if (hour.told || hour.flagged * FLAGGED_PARTS <= hour.requests) return
    hour.told = true
    this.#ports.event('usage.flagged', provider, {
      requests: hour.requests,
      flagged: hour.flagged,
      generation: generationId,
    })
  }

  #countShortfall({ providerSlug, model, generationId }: Answered, shortfallMicro: Micro): void {
    const provider = providerSlug ?? ''
    const key = `${provider} ${model}`
    this.#shortfalls.set(provider, (this.#shortfalls.get(provider) ?? 0n) + shortfallMicro)
    if (this.#toldShortfalls.has(key)) return
    this.#toldShortfalls.add(key)
    this.#ports.event('usage.shortfall', provider, {
      model,
      shortfall: Number(shortfallMicro) / 1e6,
      generation: generationId,
    })
  }
}

/** Each provider once, including those that are no longer in the catalogue. */
function named(providers: Iterable<string>, counted: ReadonlyMap<string, unknown>): readonly string[] {
  return [...new Set([...providers, ...counted.keys()])]
}
