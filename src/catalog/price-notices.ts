import type { Clock } from '../base/clock.ts'
import { ownValue } from '../base/own-value.ts'
import { isoDay, HOUR_MS } from '../base/time.ts'
import { thrownMessage } from '../base/text.ts'
import { comingPricesNotice } from '../ledger/notice.ts'
import type { Store } from '../store/store.ts'
import type { CatalogService } from './catalog-service.ts'
import type { Model } from './catalog.ts'
import type { ComingStep } from './coming-prices.ts'
import { pricesFor } from './customer-prices.ts'
import { usedSince } from './held-prices.ts'
import { cheapestEndpoint, priceTexts } from './shown-prices.ts'

const EVERY_MS = 5_000
/** The most models that a notice names. */
const NAMED_MAX = 10

export interface PriceNoticePorts {
  readonly catalog: Pick<CatalogService, 'isDue' | 'refresh' | 'comingModels'>
  readonly store: Pick<Store, 'accounts' | 'generations' | 'notices'>
  readonly clock: Clock
  readonly leads: () => boolean
  /** Writes one sentence for the operator as a log line. */
  readonly notice: (message: string) => void
}

/**
 * Makes coming prices count at their time where no request does, and tells each account once of those of models that it
 * used in the last 30 days: as soon as they are announced, and every hour for those that use a model since. A notice
 * has its id from the change and the account, so a crash repeats none.
 */
export class PriceNotices {
  readonly #ports: PriceNoticePorts
  #told: { readonly steps: readonly ComingStep[]; readonly atMs: number } | null = null
  #cancel: () => void = () => undefined
  #running: Promise<void> | null = null
  #isStopped = false

  constructor(ports: PriceNoticePorts) {
    this.#ports = ports
  }

  start(): void {
    if (this.#isStopped) return
    this.#cancel = this.#ports.clock.after(EVERY_MS, () => this.start())
    this.#running ??= this.#turn().finally(() => {
      this.#running = null
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    await this.#running
  }

  async #turn(): Promise<void> {
    const { catalog, clock, leads, notice } = this.#ports
    try {
      if (catalog.isDue()) await catalog.refresh()
      if (!leads()) return
      const steps = catalog.comingModels()
      const nowMs = clock.now()
      if (this.#told?.steps === steps && nowMs < this.#told.atMs + HOUR_MS) return
      for (const step of steps) await this.#tell(step, nowMs)
      this.#told = { steps, atMs: nowMs }
    } catch (thrown) {
      notice(`Customers could not be told of coming prices: ${thrownMessage(thrown)}`)
    }
  }

  async #tell({ change, before, after, changed }: ComingStep, nowMs: number): Promise<void> {
    const { accounts, generations, notices } = this.#ports.store
    const rows = await generations.customersOf([...changed], usedSince(nowMs))
    for (const [accountId, used] of Map.groupBy(rows, ({ group }) => group)) {
      if (this.#isStopped) return
      const markup = (await accounts.rules(accountId))?.markup ?? undefined
      const ids = [...new Set(used.map(({ model }) => model))]
      const models = ids.slice(0, NAMED_MAX).map((model) => {
        const then = pricesIn(after.get(model), markup)
        const prices = Object.entries(pricesIn(before.get(model), markup)).flatMap(([price, was]) => {
          const is = ownValue(then, price) ?? '0'
          return is === was ? [] : [{ price, before: was, after: is }]
        })
        return { model, prices }
      })
      const detail = { from: change.fromMs, day: isoDay(change.fromMs), models, more: ids.length - models.length }
      await notices.raise(comingPricesNotice(accountId, change.id, detail, nowMs))
    }
  }
}

/** The customer's prices at the cheapest provider, in the units of the price list. */
function pricesIn(model: Model | undefined, markup: string | undefined): Readonly<Record<string, string>> {
  const cheapest = model === undefined ? null : cheapestEndpoint(model.endpoints)
  return model === undefined || cheapest === null ? {} : priceTexts(model.type, pricesFor(cheapest, markup).sell)
}
