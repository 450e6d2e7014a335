import { createHash } from 'node:crypto'
import { approvedAfter, priceChanges, withPrices, type PriceChange, type PriceSource } from './price-list.ts'
import { isDeepStrictEqual } from 'node:util'
import type { CatalogStore } from '../store/catalog/catalog-store.ts'
import type { CatalogPorts } from './catalog-ports.ts'
import { BUNDLED, type BundledRelease, withoutBundled } from './bundled.ts'
import {
  bundleNews,
  bundlePrices,
  endpointIds,
  modelsOf,
  providersOf,
  soldRows,
  withChanges,
  withDataSet,
  type BundleNews,
  type BundleUpdate,
} from './bundle-changes.ts'
import { CatalogError, CatalogFaults, checkText } from './catalog-check.ts'
import { catalogNotes, unroutableWarnings } from './catalog-notes.ts'
import {
  effectiveDocument,
  NOTHING,
  decryptState,
  parseStored,
  encryptState,
  fileRights,
  stateAfter,
  storedText,
  type CatalogState,
  checkedSuccessor,
  onTop,
  OvertakenError,
} from './catalog-state.ts'
import {
  comingSteps,
  isDueAt,
  nextOf,
  withComing,
  type ComingEdit,
  type ComingPrices,
  type ComingStep,
} from './coming-prices.ts'
import type { CatalogWarning } from './catalog-warning.ts'
import type { Catalog, Provider, Snapshot } from './catalog.ts'
import { credentialsOf, keepCredentials, withMaskedCredentials, withoutCredentials } from './credentials.ts'
import { difference } from './difference.ts'
import {
  withConnection,
  withModel,
  withoutModel,
  withoutProvider,
  withProvider,
  withSettings,
  type CatalogCheck,
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
import { missingSteps } from './known-providers.ts'
import { mergeRates, type MergedRates } from './feed-rates.ts'
import { priceWarnings } from './price-doubts.ts'
import type { Fault } from './source-tree.ts'
import { PriceVersions } from './price-versions.ts'
import { buildSnapshot, NO_RIGHTS, type FileRights } from './snapshot.ts'
import { documentYaml } from './wire-document.ts'
import { ownValue } from '../base/own-value.ts'
import { isoDay, isoTime } from '../base/time.ts'

/**
 * The catalogue: what is sold now, at which price, by which provider.
 *
 * **What it is for.** A price version is all that decides a charge: models, endpoints, prices, rates, settings. It
 * never changes once it is stored, so a charge can be recalculated from the row of the log that names it.
 *
 * **What it is made of.** The operator's document, by file or API; the bundled part, which a release brings; the rates
 * that a feed brings. `catalog-state.ts` puts them together, `snapshot.ts` builds what the paid path reads,
 * `current()`, which a request keeps to its end. `document-reader.ts` reads documents, `wire-document.ts` writes them.
 *
 * **What it offers.** `current`, `shown`, `exportText`, `notes`, `warnings`; earlier versions (`price-versions.ts`);
 * the operator's changes, those from outside (`updateBundle`, `applyRates`, `applyPrices`), those of later
 * (`…Coming`).
 * Changes run one after another, each on top of what other nodes have appended. The whole
 * document is checked (`checkedSuccessor`), so no faulty document is ever in force. A change without a difference makes
 * no version.
 * It calls no other service, charges nobody, knows no account. Credentials leave it masked.
 */
export class CatalogService extends PriceVersions implements Catalog {
  readonly #ports: CatalogPorts
  readonly #listeners: (() => void)[] = []
  #state: CatalogState = NOTHING
  #steps: readonly ComingStep[] | null = null
  #fileDigest: string | null = null
  #snapshot: Snapshot
  /** Changes are applied one after another. */
  #tail: Promise<unknown> = Promise.resolve()

  constructor(ports: CatalogPorts) {
    super(ports.store)
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
      const stored = parseStored(latest.document, null).effective
      if (
        !isDeepStrictEqual(next.base, this.#state.base) ||
        !isDeepStrictEqual(withoutCredentials(effectiveDocument(next)), stored)
      )
        await this.#apply(next, this.#fileDigest)
      await this.#settleDue()
    })
  }

  /** Takes over a version that another process applied, then makes what is due count; false = nothing is newer. */
  async refresh(): Promise<boolean> {
    // This runs often, so the version number is read before the long document.
    const wasDue = this.isDue()
    if (!wasDue && (await this.#ports.store.newest()) <= this.#snapshot.priceVersion) return false
    return this.#change(async () => {
      // One of the requests that wait for the same change has applied it.
      if (wasDue && !this.isDue()) return false
      const isNewer = await this.#adoptNewer()
      await this.#settleDue()
      return isNewer
    })
  }

  /**
   * Makes the catalogue equal to the file; returns the difference. With `onlyNew`, a file that was the last one applied
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
      const next = this.#after(this.#successor(document))
      return this.#replace({ ...next, filed: Object.keys(next.own.providers) }, options.dryRun, digest)
    })
  }

  /** Replaces the whole document; a provider without credentials keeps those it has. */
  applyDocument(document: CatalogDocument, dryRun: boolean, check?: CatalogCheck): Promise<readonly string[]> {
    return this.#change(async () => {
      await this.#adoptNewer()
      // A document that was read from here contains the bundled entries.
      const next = this.#after(this.#successor(withoutBundled(document, this.#state.base)))
      check?.(effectiveDocument(this.#state), effectiveDocument(next))
      return this.#replace(next, dryRun, this.#fileDigest)
    })
  }

  /** Takes this release's bundled models, newer rows of a data set, and the prices that need no person's decision. */
  updateBundle(dryRun: boolean, set: readonly ModelEntry[] | null = null): Promise<BundleUpdate> {
    return this.#change(async () => {
      await this.#adoptNewer()
      const release = withDataSet(this.#ports.release, set, this.#state.base)
      const renewed = this.#after(this.#state.own, release)
      const changes = bundlePrices(renewed, release, this.#snapshot.settings.catalogUpdate.rise)
      const [applied, base] = withPrices(
        renewed.base,
        changes.filter(({ reason }) => reason === null),
      )
      const lines = await this.#replace({ ...renewed, base }, dryRun, this.#fileDigest, null)
      return { lines, applied, held: changes.filter(({ reason }) => reason !== null).filter(soldRows(renewed)) }
    })
  }

  /** What `updateBundle` would change, each change for a person to decide. */
  bundleNews(set: readonly ModelEntry[]): BundleNews {
    const release = withDataSet(this.#ports.release, set, this.#state.base)
    const renewed = this.#after(this.#state.own, release)
    return bundleNews(this.#state, renewed, release, set, this.#snapshot.settings.catalogUpdate.rise)
  }

  /** The id of the model of each known bundled endpoint. */
  bundledIds(): ReadonlyMap<string, string> {
    return endpointIds([...this.#ports.release.models, ...this.#state.base.models])
  }

  /** Whether a provider that the published lists have is connected. */
  asksLists(): boolean {
    return this.bundledProviders().length > Object.keys(BUNDLED.providers).length
  }

  /** Applies fetched rates, RUB per unit; a changed rate makes a price version. Returns the rates that were refused. */
  applyRates(fetched: Readonly<Record<string, string>>): Promise<MergedRates> {
    return this.#change(async () => {
      await this.#adoptNewer()
      const merged = mergeRates({ ...this.#state.own.settings.rates, ...this.#state.feed }, this.#state.feed, fetched)
      if (merged.changed) await this.#apply({ ...this.#state, feed: merged.rates }, this.#fileDigest)
      return merged
    })
  }

  /** The models in force as they would be with these changes. */
  preview(changes: readonly PriceChange[]): Snapshot['models'] {
    return this.built(effectiveDocument({ ...this.#state, ...withChanges(this.#state, changes) }), 0, 0).models
  }

  /** Providers that have bundled models; none if the bundle is not sold. */
  bundledProviders(): readonly string[] {
    return this.#state.own.bundled ? providersOf(this.#state.base.models) : []
  }

  /** What a source changes in the prices in force, and the other rows that it has, each for a person to decide. */
  changesBy(source: PriceSource, rows: (state: CatalogState) => readonly PriceChange[]): readonly PriceChange[] {
    return [...priceChanges(effectiveDocument(this.#state), source, this.#state.approved), ...rows(this.#state)]
  }

  /**
   * Applies, as one price version, the changes whose endpoints still have the price before; returns those. `by` a
   * person: later changes are measured against the new prices.
   */
  applyPrices(changes: readonly PriceChange[], by: 'person' | 'list'): Promise<readonly PriceChange[]> {
    return this.#change(async () => {
      await this.#adoptNewer()
      const { made, own, base } = withChanges(this.#state, changes)
      if (made.length > 0) {
        const state = { ...this.#state, own: own === this.#state.own ? own : this.#successor(own), base }
        await this.#apply(state, this.#fileDigest, by === 'person' ? [...own.models, ...base.models] : null)
      }
      return made
    })
  }

  /** Changes of prices that count from a later time, the first one first; with a failure, not at all. */
  coming(): readonly ComingPrices[] {
    return this.#state.coming
  }

  /** What each change that waits does to the models in force then. */
  comingModels(): readonly ComingStep[] {
    const { own, base, coming } = this.#state
    const modelsOf = (later: CatalogDocument): Snapshot['models'] =>
      this.built(effectiveDocument({ ...this.#state, own: later }), 0, 0).models
    this.#steps ??= comingSteps(coming, own, base, this.#snapshot.models, modelsOf)
    return this.#steps
  }

  /** Adds or takes back coming changes. `linesOf`: the difference that one would make now. */
  changeComing<T>(
    change: (all: readonly ComingPrices[], linesOf: (one: ComingPrices) => readonly string[]) => ComingEdit<T>,
  ): Promise<T> {
    return this.#change(async () => {
      await this.#adoptNewer()
      const { own, base } = this.#state
      const [result, coming] = change(this.#state.coming, (one) => {
        const next = this.#after(this.#successor(withComing(own, base, one)))
        return difference(effectiveDocument(this.#state), effectiveDocument(next))
      })
      if (coming.length !== this.#state.coming.length) await this.#apply({ ...this.#state, coming }, this.#fileDigest)
      return result
    })
  }

  /** Whether a change is due: no request is admitted before `refresh` has applied it. */
  isDue(): boolean {
    return isDueAt(this.#state.coming, this.#ports.clock.now())
  }

  putProvider(slug: string, entry: ProviderEntry, check?: CatalogGuard): Promise<PutOutcome> {
    return this.#edit((document, base) => withProvider(document, base, slug, entry), check)
  }

  /** A provider and what it serves, in one price version. */
  connectProvider(slug: string, entry: ProviderEntry, models: readonly ModelEntry[]): Promise<PutOutcome> {
    return this.#edit((...now) => withConnection(...now, slug, entry, models, modelsOf(this.release.models, slug)))
  }

  /** The provider that an entry describes. Without keys and with the same address it gets the stored keys. */
  providerOf(slug: string, entry: ProviderEntry): Provider {
    const problems: Fault[] = []
    const before = effectiveDocument(this.#state)
    const document = keepCredentials(before, { ...EMPTY_DOCUMENT, providers: { [slug]: entry } }, problems)
    if (problems.length > 0) throw new CatalogFaults(problems)
    const provider = this.built(document, 0, 0).providers.get(slug)
    if (provider === undefined) throw new Error(`Provider ${slug} is not in the catalogue of itself alone.`)
    return provider
  }

  rightsOf(slug: string, entry: ProviderEntry): FileRights {
    const { adapters, allowPrivateUpstreams } = this.#ports
    const rights = fileRights(this.#state, slug, entry, adapters)
    return allowPrivateUpstreams ? { ...rights, mayBePrivate: true } : rights
  }

  /** The models that this release knows, with the day of their prices. */
  get release(): BundledRelease {
    return this.#ports.release
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
    return [this.#state.own, this.#state.base].flatMap((own) => Object.values(credentialsOf(own)).flat()).length
  }

  /** The effective document with each credential cut to its last four characters. */
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
      ...missingSteps(document, this.#ports.release.models),
      ...unroutableWarnings(document),
    ]
  }

  /** Models in force that are sold at a loss, or cannot be sold for want of a rate or a price. */
  notes(): readonly CatalogWarning[] {
    return [...catalogNotes(this.#state, this.#ports.release.models), ...unroutableWarnings(this.#state.own)]
  }

  /** Each change is a price version. One that the catalogue of now cannot take stays, with the reason. */
  async #settleDue(): Promise<void> {
    while (this.isDue()) {
      const { own, base, coming } = this.#state
      const [due, rest] = nextOf(coming)
      try {
        const next = this.#successor(withComing(own, base, due))
        await this.#apply({ ...this.#after(next), coming: rest }, this.#fileDigest, next.models)
      } catch (thrown) {
        if (!(thrown instanceof CatalogFaults)) throw thrown
        const failed = { ...due, failure: thrown.message }
        await this.#apply({ ...this.#state, coming: [failed, ...rest] }, this.#fileDigest)
      }
    }
  }

  #edit<T>(change: Edit<T>, check?: CatalogGuard): Promise<T | 'same'> {
    return this.#change(async () => {
      await this.#adoptNewer()
      check?.(this.shown())
      const [result, edited] = change(this.#state.own, this.#state.base)
      const next = this.#successor(edited)
      if (isDeepStrictEqual(next, this.#state.own)) return 'same'
      await this.#apply(this.#after(next), this.#fileDigest, next.models)
      return result
    })
  }

  /** Applies `next` unless nothing changes; returns the difference. */
  async #replace(
    next: CatalogState,
    dryRun: boolean,
    fileDigest: string | null,
    named: readonly ModelEntry[] | null = next.own.models,
  ): Promise<readonly string[]> {
    const lines = difference(effectiveDocument(this.#state), effectiveDocument(next))
    const isNew = lines.length > 0 || fileDigest !== this.#fileDigest || `${next.filed}` !== `${this.#state.filed}`
    if (!dryRun && isNew) await this.#apply(next, fileDigest, named)
    return lines
  }

  /** `renewed` = the release whose bundled models are taken; absent = the models in force stay. */
  #after(own: CatalogDocument, renewed?: BundledRelease): CatalogState {
    const { adapters, release, providerKeys: keys, clock } = this.#ports
    return stateAfter(this.#state, own, {
      adapters,
      release: renewed ?? release,
      keys,
      renew: renewed !== undefined,
      today: isoDay(clock.now()),
    })
  }

  #change<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(() => onTop(work))
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  #successor(document: CatalogDocument): CatalogDocument {
    return checkedSuccessor(this.#state, document, {
      at: isoTime(this.#ports.clock.now()),
      release: this.#ports.release.models,
      after: (own) => this.#after(own),
    })
  }

  async #adoptNewer(): Promise<boolean> {
    const latest = await this.#ports.store.latest()
    if (latest === null || latest.version <= this.#snapshot.priceVersion) return false
    this.#adopt(latest)
    return true
  }

  #adopt(latest: StoredVersion): void {
    this.#state = decryptState(parseStored(latest.document, latest.fileDigest), latest.credentials, this.#ports.cipher)
    this.#fileDigest = latest.fileDigest
    this.#use(latest.version, latest.createdAtMs)
  }

  /** `named`: the models whose prices a person gives; null = no person gave a price. */
  async #apply(
    next: CatalogState,
    fileDigest: string | null,
    named: readonly ModelEntry[] | null = null,
  ): Promise<void> {
    const [before, changed] = [effectiveDocument(this.#state), effectiveDocument(next)]
    const state = { ...next, approved: approvedAfter(next.approved, before, changed, named) }
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
    this.#snapshot = this.kept(this.built(effectiveDocument(this.#state), version, atMs))
    this.#steps = null
    for (const listener of this.#listeners) listener()
  }

  protected built(document: CatalogDocument, version: number, atMs: number): Snapshot {
    return buildSnapshot(document, this.#ports.adapters, version, atMs, (slug) => {
      const entry = ownValue(document.providers, slug)
      return entry === undefined ? NO_RIGHTS : this.rightsOf(slug, entry)
    })
  }
}

type StoredVersion = NonNullable<Awaited<ReturnType<CatalogStore['latest']>>>
