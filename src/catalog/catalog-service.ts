import { createHash } from 'node:crypto'
import type { KnownAdapters } from './adapters.ts'
import { isDeepStrictEqual } from 'node:util'
import type { GenerationRow } from '../ledger/generation-record.ts'
import type { Clock } from '../lib/clock.ts'
import type { Decimal } from '../base/money.ts'
import type { CatalogStore } from '../store/catalog/catalog-store.ts'
import type { ProviderKeys } from './bundled-base.ts'
import type { BundledRelease } from './bundled-release.ts'
import { withBundled, withoutBundled } from './bundled.ts'
import { CatalogError, CatalogFaults, checkText, soundnessProblems } from './catalog-check.ts'
import { catalogNotes, unroutableWarnings } from './catalog-notes.ts'
import {
  effectiveDocument,
  NOTHING,
  decryptState,
  parseStored,
  encryptState,
  stateAfter,
  storedText,
  type CatalogState,
} from './catalog-state.ts'
import { pricesFor } from './customer-prices.ts'
import type { CatalogWarning } from './catalog-warning.ts'
import type { Catalog, Prices, Provider, Snapshot } from './catalog.ts'
import { credentialsOf, keepCredentials, withMaskedCredentials, withoutCredentials } from './credentials.ts'
import type { Cipher } from '../lib/cipher.ts'
import { difference } from './difference.ts'
import {
  successorOf,
  withConnection,
  withModel,
  withoutModel,
  withoutProvider,
  withProvider,
  withSettings,
  type CatalogGuard,
  type Edit,
  type PutOutcome,
} from './document-edits.ts'
import {
  EMPTY_DOCUMENT,
  type CatalogDocument,
  type ModelEntry,
  type ProviderEntry,
  type SettingsEntry,
} from './document.ts'
import { mergeRates, type MergedRates } from './feed-rates.ts'
import { priceFaults, priceWarnings } from './price-doubts.ts'
import { listSource, priceChanges, releaseSource, withPrices, type PriceChange } from './price-list.ts'
import type { PriceList } from './feeds/price-list-api.ts'
import type { Fault } from './problem.ts'
import { buildSnapshot, settingsOf } from './snapshot.ts'
import { documentYaml } from './wire-document.ts'
import { isoDay, isoTime } from '../base/time.ts'

const VERSIONS_KEPT = 64
const DOCUMENTS_KEPT = 4
/** How often a change is tried again when another node's change came first. */
const TRIES_MAX = 10

/** What a release makes of the bundled models. */
export interface BundleUpdate {
  /** The difference of the catalogue. */
  readonly lines: readonly string[]
  /** Prices among them. */
  readonly applied: readonly PriceChange[]
  /** Prices that need a hand. */
  readonly held: readonly PriceChange[]
}

/** Another node has appended a version since this one read the store. */
class OvertakenError extends Error {
  override readonly name = 'OvertakenError'
}

export interface CatalogPorts {
  readonly store: Pick<CatalogStore, keyof CatalogStore>
  readonly clock: Clock
  readonly cipher: Cipher
  readonly adapters: KnownAdapters
  readonly env: Readonly<Record<string, string | undefined>>
  readonly release: BundledRelease
  /** Keys from the environment, which decide which bundled providers are on. null = the stored ones stay. */
  readonly providerKeys: ProviderKeys | null
}

/** The catalogue: what is sold now, changes to it, and its earlier price versions. */
export class CatalogService implements Catalog {
  readonly #ports: CatalogPorts
  readonly #versions = new Map<number, Snapshot>()
  readonly #documents = new Map<number, CatalogDocument>()
  readonly #listeners: (() => void)[] = []
  #state: CatalogState = NOTHING
  #fileDigest: string | null = null
  #snapshot: Snapshot
  /** Changes are applied one after another. */
  #tail: Promise<unknown> = Promise.resolve()

  constructor(ports: CatalogPorts) {
    this.#ports = ports
    this.#snapshot = buildSnapshot(EMPTY_DOCUMENT, ports.adapters, 0, 0)
  }

  current(): Snapshot {
    return this.#snapshot
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Reads the last applied version; an empty store gets the bundled catalogue as version 1. */
  load(): Promise<void> {
    return this.#change(async () => {
      const latest = await this.#ports.store.latest()
      if (latest === null) return this.#apply(this.#after(EMPTY_DOCUMENT), null)
      this.#adopt(latest)
      // The environment's keys and the sandbox may have changed since the last start; prices of bundled models change
      // only by `updateBundle`.
      const next = this.#after(this.#state.own)
      const stored = parseStored(latest.document).effective
      if (
        !isDeepStrictEqual(next.base, this.#state.base) ||
        !isDeepStrictEqual(withoutCredentials(effectiveDocument(next)), stored)
      )
        await this.#apply(next, this.#fileDigest)
    })
  }

  /** Takes over a version that another process applied; false = nothing is newer. */
  async refresh(): Promise<boolean> {
    // This is asked often, so the version number is read before the long document.
    if ((await this.#ports.store.newest()) <= this.#snapshot.priceVersion) return false
    return this.#inTurn(() => this.#adoptNewer())
  }

  /**
   * Makes the catalogue equal to the file; answers the difference. With `onlyNew`, the file that was applied last
   * changes nothing.
   */
  applyText(
    text: string,
    options: { readonly dryRun: boolean; readonly onlyNew: boolean; readonly file: string },
  ): Promise<readonly string[]> {
    const { document, problems } = checkText(text, this.#ports, this.#state.base, this.#ports.release.models)
    const fatal = problems.filter((problem) => problem.unroutable !== true)
    if (fatal.length > 0) throw new CatalogError(fatal, options.file)
    const digest = createHash('sha256').update(JSON.stringify(document)).digest('hex')
    return this.#change(async () => {
      await this.#adoptNewer()
      if (options.onlyNew && digest === this.#fileDigest) return []
      return this.#replace(this.#after(this.#successor(document)), options.dryRun, digest)
    })
  }

  /** Replaces the whole document; a provider without credentials keeps those it has. */
  applyDocument(document: CatalogDocument, dryRun: boolean): Promise<readonly string[]> {
    return this.#change(async () => {
      await this.#adoptNewer()
      // A document that was read from here contains the bundled entries.
      return this.#replace(
        this.#after(this.#successor(withoutBundled(document, this.#state.base))),
        dryRun,
        this.#fileDigest,
      )
    })
  }

  /** Takes this release's bundled models, and those of its prices that need no hand. */
  updateBundle(dryRun: boolean): Promise<BundleUpdate> {
    return this.#change(async () => {
      await this.#adoptNewer()
      const renewed = this.#after(this.#state.own, true)
      const { providers, settings } = effectiveDocument(renewed)
      const follows = Object.entries(providers).flatMap(([slug, entry]) =>
        entry.price_list === undefined ? [] : [slug],
      )
      const own = new Set(renewed.own.models.map(({ id }) => id))
      const changes = priceChanges(
        { models: renewed.base.models.filter(({ id }) => !own.has(id)), settings },
        releaseSource(this.#ports.release.models, new Set(follows), this.#snapshot.settings.catalogUpdate.rise),
      )
      const [applied, base] = withPrices(
        renewed.base,
        changes.filter(({ reason }) => reason === null),
      )
      const lines = await this.#replace({ ...renewed, base }, dryRun, this.#fileDigest)
      return { lines, applied, held: changes.filter(({ reason }) => reason !== null) }
    })
  }

  /** Applies fetched rates, RUB per unit; a changed rate makes a price version. Answers which rates were refused. */
  applyRates(fetched: Readonly<Record<string, string>>): Promise<MergedRates> {
    return this.#change(async () => {
      await this.#adoptNewer()
      const merged = mergeRates({ ...this.#state.own.settings.rates, ...this.#state.feed }, this.#state.feed, fetched)
      if (merged.changed) await this.#apply({ ...this.#state, feed: merged.rates }, this.#fileDigest)
      return merged
    })
  }

  /** Whether the prices of a provider follow a list of its own. */
  hasPriceList(slug: string): boolean {
    return this.#snapshot.providers.get(slug)?.priceList !== undefined
  }

  /** Providers that have bundled models. */
  bundledProviders(): readonly string[] {
    return [...new Set(this.#state.base.models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider)))]
  }

  /** The changes that a provider's list makes to the prices in force. */
  pricesAfter(provider: string, list: PriceList, risePercent: number): readonly PriceChange[] {
    return priceChanges(effectiveDocument(this.#state), listSource(provider, list, risePercent))
  }

  /** Applies, as one price version, the changes whose endpoints still have the price before; answers those. */
  applyPrices(changes: readonly PriceChange[]): Promise<readonly PriceChange[]> {
    return this.#change(async () => {
      await this.#adoptNewer()
      const [inOwn, own] = withPrices(this.#state.own, changes)
      const hidden = new Set(own.models.map(({ id }) => id))
      const [inBase, base] = withPrices(
        this.#state.base,
        changes.filter(({ model }) => !hidden.has(model)),
      )
      const made = [...inOwn, ...inBase]
      if (made.length > 0)
        await this.#apply(
          { ...this.#state, own: inOwn.length === 0 ? own : this.#successor(own), base },
          this.#fileDigest,
        )
      return made
    })
  }

  putProvider(slug: string, entry: ProviderEntry, check?: CatalogGuard): Promise<PutOutcome> {
    return this.#edit((document, base) => withProvider(document, base, slug, entry), check)
  }

  /** A provider and what it serves, in one price version. */
  connectProvider(slug: string, entry: ProviderEntry, models: readonly ModelEntry[]): Promise<PutOutcome> {
    return this.#edit((document, base) => withConnection(document, base, slug, entry, models))
  }

  /** The provider that an entry describes, with the stored keys where it has none and the address is the same. */
  providerOf(slug: string, entry: ProviderEntry): Provider {
    const problems: Fault[] = []
    const before = effectiveDocument(this.#state)
    const document = keepCredentials(before, { ...EMPTY_DOCUMENT, providers: { [slug]: entry } }, problems)
    if (problems.length > 0) throw new CatalogFaults(problems)
    const provider = buildSnapshot(document, this.#ports.adapters, 0, 0).providers.get(slug)
    if (provider === undefined) throw new Error(`Provider ${slug} is not in the catalogue of itself alone.`)
    return provider
  }

  /** The models of this release that a known provider serves, each with its endpoint alone. */
  knownModels(slug: string): readonly ModelEntry[] {
    return this.#ports.release.models.flatMap((model) => {
      const endpoints = model.endpoints.filter(({ provider }) => provider === slug)
      return endpoints.length === 0 ? [] : [{ ...model, endpoints }]
    })
  }

  /** false = no such provider. */
  async deleteProvider(slug: string, check?: CatalogGuard): Promise<boolean> {
    return (await this.#edit((document, base) => withoutProvider(document, base, slug), check)) === true
  }

  putModel(entry: ModelEntry, check?: CatalogGuard): Promise<PutOutcome> {
    return this.#edit((document, base) => withModel(document, base, entry), check)
  }

  async deleteModel(id: string, check?: CatalogGuard): Promise<boolean> {
    return (await this.#edit((document, base) => withoutModel(document, base, id), check)) === true
  }

  async patchSettings(settings: SettingsEntry, check?: CatalogGuard): Promise<boolean> {
    return (await this.#edit((document) => withSettings(document, settings), check)) !== 'same'
  }

  /** Encrypts the credentials again with the first key; the catalogue does not change. */
  rewrap(): Promise<void> {
    return this.#change(async () => {
      await this.#adoptNewer()
      await this.#apply(this.#state, this.#fileDigest)
    })
  }

  credentialCount(): number {
    return [this.#state.own, this.#state.base]
      .flatMap((document) => Object.values(credentialsOf(document)))
      .reduce((sum, keys) => sum + keys.length, 0)
  }

  /** The effective document, each credential cut to its last four characters. */
  shown(): CatalogDocument {
    return withMaskedCredentials(effectiveDocument(this.#state))
  }

  /** The operator's document as YAML, without credentials. */
  exportText(): string {
    return documentYaml(withoutCredentials(this.#state.own))
  }

  /** The source of the rates; null = they are fixed. */
  ratesSource(): 'cbr' | null {
    return this.#state.own.settings.rates_source ?? null
  }

  /** Models of a document that would be sold below their cost, or not at all. */
  warnings(document: CatalogDocument): readonly CatalogWarning[] {
    return [
      ...priceWarnings(document, { ...effectiveDocument(this.#state).settings.rates, ...document.settings.rates }),
      ...unroutableWarnings(document),
    ]
  }

  /** Models in force that are sold at a loss, or cannot be sold for want of a rate or a price. */
  notes(): readonly CatalogWarning[] {
    return [...catalogNotes(this.#state), ...unroutableWarnings(this.#state.own)]
  }

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

  /** The prices by which a row of the log was charged; null where they are gone. */
  async pricesOf(
    row: Pick<GenerationRow, 'priceVersion' | 'model' | 'endpointId' | 'variant' | 'markup'>,
  ): Promise<Prices | null> {
    if (row.endpointId === null) return null
    const prices = await this.priceOf(row.priceVersion, row.model, row.endpointId, row.variant ?? null)
    return prices === null ? null : pricesFor(prices, row.markup)
  }

  /** A stored price version; null where there is none. */
  async pricedCatalog(version: number): Promise<CatalogDocument | null> {
    const known = this.#documents.get(version)
    if (known !== undefined) return known
    const stored = await this.#ports.store.byVersion(version)
    if (stored === null) return null
    const { effective } = parseStored(stored.document)
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

  /** The same for the version that was in force at a time, Unix ms. */
  async ratesAt(atMs: number): Promise<Readonly<Record<string, Decimal>>> {
    const stored = await this.#ports.store.at(atMs)
    return stored === null ? {} : settingsOf(parseStored(stored.document).effective.settings).rates
  }

  async #loadVersion(version: number): Promise<Snapshot | null> {
    const stored = await this.#ports.store.byVersion(version)
    if (stored === null) return null
    return this.#keep(
      buildSnapshot(parseStored(stored.document).effective, this.#ports.adapters, version, stored.createdAtMs),
    )
  }

  /** What is so already makes no version. */
  #edit<T>(change: Edit<T>, check?: CatalogGuard): Promise<T | 'same'> {
    return this.#change(async () => {
      await this.#adoptNewer()
      check?.(this.shown())
      const [result, edited] = change(this.#state.own, this.#state.base)
      const next = this.#successor(edited)
      if (isDeepStrictEqual(next, this.#state.own)) return 'same'
      await this.#apply(this.#after(next), this.#fileDigest)
      return result
    })
  }

  /** Applies `next` unless nothing changes; answers the difference. */
  async #replace(next: CatalogState, dryRun: boolean, fileDigest: string | null): Promise<readonly string[]> {
    const lines = difference(effectiveDocument(this.#state), effectiveDocument(next))
    if (!dryRun && (lines.length > 0 || fileDigest !== this.#fileDigest)) await this.#apply(next, fileDigest)
    return lines
  }

  #after(own: CatalogDocument, renew = false): CatalogState {
    const { adapters, release, providerKeys: keys, clock } = this.#ports
    return stateAfter(this.#state, own, {
      adapters,
      release,
      keys,
      renew,
      today: isoDay(clock.now()),
    })
  }

  /** Repeats a change that another node's change overtook, on top of that one, so that neither is lost. */
  #change<T>(work: () => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await work()
        } catch (thrown) {
          if (!(thrown instanceof OvertakenError) || tries === TRIES_MAX) throw thrown
        }
      }
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(work)
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  /** The operator's document after the change. Throws CatalogFaults. */
  #successor(document: CatalogDocument): CatalogDocument {
    const problems: Fault[] = []
    const next = successorOf(
      withBundled(this.#state.own, this.#state.base),
      document,
      isoTime(this.#ports.clock.now()),
      problems,
    )
    const state = this.#after(next)
    // Faults that were there before do not refuse this change.
    const before = new Map(this.#state.own.models.map((model) => [model.id, model]))
    const kept = new Set(
      next.models.flatMap((model, at) => (isDeepStrictEqual(before.get(model.id), model) ? [at] : [])),
    )
    const isNew = (path: string): boolean => !kept.has(Number(/\d+/.exec(path)?.[0]))
    const faults = priceFaults(
      next.models,
      this.#ports.release.models,
      effectiveDocument(state).settings.rates ?? {},
    ).filter(({ path }) => isNew(path))
    problems.push(...soundnessProblems(next, state.base), ...faults)
    if (problems.length > 0) throw new CatalogFaults(problems)
    return next
  }

  async #adoptNewer(): Promise<boolean> {
    const latest = await this.#ports.store.latest()
    if (latest === null || latest.version <= this.#snapshot.priceVersion) return false
    this.#adopt(latest)
    return true
  }

  #adopt(latest: StoredVersion): void {
    this.#state = decryptState(parseStored(latest.document), latest.credentials, this.#ports.cipher)
    this.#fileDigest = latest.fileDigest
    this.#use(latest.version, latest.createdAtMs)
  }

  async #apply(state: CatalogState, fileDigest: string | null): Promise<void> {
    const atMs = this.#ports.clock.now()
    const after = this.#snapshot.priceVersion
    const version = await this.#ports.store.append({
      after,
      document: storedText(state),
      credentials: encryptState(state, this.#ports.cipher),
      fileDigest,
      atMs,
    })
    if (version === null) throw new OvertakenError(`Price version ${after + 1} is another node's.`)
    this.#state = state
    this.#fileDigest = fileDigest
    this.#use(version, atMs)
  }

  #use(version: number, atMs: number): void {
    this.#snapshot = this.#keep(buildSnapshot(effectiveDocument(this.#state), this.#ports.adapters, version, atMs))
    for (const listener of this.#listeners) listener()
  }

  #keep(snapshot: Snapshot): Snapshot {
    const [oldest] = this.#versions.keys()
    if (this.#versions.size >= VERSIONS_KEPT && oldest !== undefined) this.#versions.delete(oldest)
    this.#versions.set(snapshot.priceVersion, snapshot)
    return snapshot
  }
}

type StoredVersion = NonNullable<Awaited<ReturnType<CatalogStore['latest']>>>
