import type { EventAction } from '../../ledger/event-action.ts'
import type { GenerationRecord } from '../../ledger/generation-record.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Micro } from '../../base/money.ts'
import { HOUR_MS } from '../../base/time.ts'

/** More flagged answers in an hour than this part of them are an event: 0.1 %. */
const FLAGGED_PARTS = 1_000

export interface UsageWatchPorts {
  readonly clock: Clock
  /** Writes to the audit log; lost while the store is down. */
  readonly event: (action: EventAction, object: string, detail: Readonly<Record<string, unknown>>) => void
}

export type Answered = Pick<GenerationRecord, 'providerSlug' | 'model' | 'flagged' | 'generationId'>

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

  constructor(ports: UsageWatchPorts) {
    this.#ports = ports
  }

  /**
   * Flagged answers since the start, by provider. Each of `providers` is there from the beginning, with 0: an alert
   * sees a counter rise, and never that one is new.
   */
  flagged(providers: Iterable<string>): readonly { readonly provider: string; readonly count: number }[] {
    return named(providers, this.#flagged).map((provider) => ({ provider, count: this.#flagged.get(provider) ?? 0 }))
  }

  /** The cost of answers beyond their holds and balances, since the start, likewise. */
  shortfalls(providers: Iterable<string>): readonly { readonly provider: string; readonly micro: Micro }[] {
    return named(providers, this.#shortfalls).map((provider) => ({
      provider,
      micro: this.#shortfalls.get(provider) ?? 0n,
    }))
  }

  /** Notes a settled answer. */
  settled(record: Answered, shortfallMicro: Micro): void {
    this.#roll()
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

/** Each provider once, those too that are in the catalogue no more. */
function named(providers: Iterable<string>, counted: ReadonlyMap<string, unknown>): readonly string[] {
  return [...new Set([...providers, ...counted.keys()])]
}
