import type { Decimal } from '../base/money.ts'
import type { CatalogStore } from '../store/catalog/catalog-store.ts'
import type { Prices, Snapshot } from './catalog.ts'
import { parseStored } from './catalog-state.ts'
import { pricesFor } from './customer-prices.ts'
import type { CatalogDocument } from './document.ts'
import { rowPrices, type PricedRow, type RowPrices } from './price-conditions.ts'
import { settingsOf } from './snapshot.ts'

const VERSIONS_KEPT = 64
const DOCUMENTS_KEPT = 4

/** Price versions by their numbers: what a charge is recalculated from. */
export abstract class PriceVersions {
  readonly #store: Pick<CatalogStore, 'byVersion' | 'at'>
  readonly #versions = new Map<number, Snapshot>()
  readonly #documents = new Map<number, CatalogDocument>()

  constructor(store: Pick<CatalogStore, 'byVersion' | 'at'>) {
    this.#store = store
  }

  protected abstract built(document: CatalogDocument, version: number, atMs: number): Snapshot

  /**
   * The prices of an endpoint in a version; null when that version did not sell it. `variant` = the key of one of its
   * prices by resolution.
   */
  async priceOf(
    version: number,
    modelId: string,
    endpointId: string,
    variant: string | null = null,
  ): Promise<Prices | null> {
    const snapshot = this.#versions.get(version) ?? (await this.#loadVersion(version))
    const endpoint = snapshot?.models.get(modelId)?.endpoints.find(({ id }) => id === endpointId)
    return (variant === null ? endpoint : endpoint?.variants?.get(variant)) ?? null
  }

  /** The prices by which a row of the log was charged; null = they are gone. */
  async pricesOf(row: PricedRow): Promise<RowPrices | null> {
    if (row.endpointId === null) return null
    const prices = await this.priceOf(row.priceVersion, row.model, row.endpointId, row.variant ?? null)
    return prices === null ? null : rowPrices(pricesFor(prices, row.markup), row)
  }

  /** A stored price version; null = there is none. */
  async pricedCatalog(version: number): Promise<CatalogDocument | null> {
    const known = this.#documents.get(version)
    if (known !== undefined) return known
    const stored = await this.#store.byVersion(version)
    if (stored === null) return null
    const { effective } = parseStored(stored.document, null)
    // Replayed rows come in the order of their versions, so earlier documents are no longer needed.
    if (this.#documents.size >= DOCUMENTS_KEPT) this.#documents.clear()
    this.#documents.set(version, effective)
    return effective
  }

  /** RUB per unit of each currency in that price version. */
  async ratesOf(version: number): Promise<Readonly<Record<string, Decimal>>> {
    const snapshot = this.#versions.get(version) ?? (await this.#loadVersion(version))
    return snapshot?.settings.rates ?? {}
  }

  /** The same for the version in force at a time, Unix ms. */
  async ratesAt(atMs: number): Promise<Readonly<Record<string, Decimal>>> {
    const stored = await this.#store.at(atMs)
    return stored === null ? {} : settingsOf(parseStored(stored.document, null).effective.settings).rates
  }

  async #loadVersion(version: number): Promise<Snapshot | null> {
    const stored = await this.#store.byVersion(version)
    if (stored === null) return null
    return this.kept(this.built(parseStored(stored.document, null).effective, version, stored.createdAtMs))
  }

  /** Keeps the snapshot for rows that name it. */
  protected kept(snapshot: Snapshot): Snapshot {
    const [oldest] = this.#versions.keys()
    if (this.#versions.size >= VERSIONS_KEPT && oldest !== undefined) this.#versions.delete(oldest)
    this.#versions.set(snapshot.priceVersion, snapshot)
    return snapshot
  }
}
