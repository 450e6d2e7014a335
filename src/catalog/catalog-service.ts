import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../lib/clock.ts'
import type { PriceSheet } from '../meters.ts'
import type { CatalogStore } from '../store/store.ts'
import { withBundled, withExplicit, withoutBundled } from './bundled.ts'
import type { Catalog, Snapshot } from './catalog.ts'
import { credentialsOf, keepCredentials, openCredentials, sealCredentials, withCredentials, withMaskedCredentials, withoutCredentials, type Seal } from './credentials.ts'
import { difference } from './difference.ts'
import { EMPTY_DOCUMENT, parseDocumentText, type CatalogDocument, type ModelEntry, type ProviderEntry, type SettingsEntry } from './document.ts'
import { buildSnapshot, crossProblems } from './snapshot.ts'
import type { Problem } from './source-tree.ts'
import { documentYaml } from './wire-document.ts'

const VERSIONS_KEPT = 64

export interface CatalogPorts {
  readonly store: CatalogStore
  readonly clock: Clock
  readonly seal: Seal
  readonly adapters: ReadonlySet<string>
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What is wrong with a document that was to be applied. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[], file = 'catalogue') {
    super(problems.map((problem) => problemText(problem, file)).join('\n'))
    this.problems = problems
  }
}

/** `file:line: path: message`, the parts that are known. */
export function problemText(problem: Problem, file: string): string {
  const place = problem.line > 0 ? `${file}:${problem.line}` : file
  return problem.path === '' ? `${place}: ${problem.message}` : `${place}: ${problem.path}: ${problem.message}`
}

/** Everything wrong with a file's text, unroutable endpoints included. */
export function checkText(text: string, context: Pick<CatalogPorts, 'adapters' | 'env'>): { readonly document: CatalogDocument; readonly problems: readonly Problem[] } {
  const { document, problems, lineOf } = parseDocumentText(text, context)
  const found = soundnessProblems(document).map((problem) => ({ ...problem, line: lineOf(problem.path) }))
  return { document, problems: [...problems, ...found].toSorted((left, right) => left.line - right.line) }
}

/** The catalogue's life: what is sold now, how it changes, and what older price versions said. */
export class CatalogService implements Catalog {
  readonly #ports: CatalogPorts
  readonly #versions = new Map<number, Snapshot>()
  readonly #listeners: (() => void)[] = []
  /** As the operator gave it; the bundled part is added when a snapshot is built. */
  #document: CatalogDocument = EMPTY_DOCUMENT
  #fileDigest: string | null = null
  #snapshot: Snapshot = buildSnapshot(EMPTY_DOCUMENT, 0, 0)
  /** Changes are applied one after another. */
  #tail: Promise<unknown> = Promise.resolve()

  constructor(ports: CatalogPorts) {
    this.#ports = ports
  }

  current(): Snapshot {
    return this.#snapshot
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Reads the last applied version; an empty store gets the bundled catalogue as version 1. */
  load(): Promise<void> {
    return this.#inTurn(async () => {
      const latest = await this.#ports.store.latest()
      if (latest === null) return this.#apply(EMPTY_DOCUMENT, null)
      this.#adopt(latest)
      // Another release may bundle other prices: what is charged by is always a stored version.
      if (!isDeepStrictEqual(withoutCredentials(withBundled(this.#document)), parseStored(latest.document).effective)) await this.#apply(this.#document, this.#fileDigest)
    })
  }

  /** Takes over what another process applied; false = there is nothing newer. */
  refresh(): Promise<boolean> {
    return this.#inTurn(() => this.#adoptNewer())
  }

  /** Makes the catalogue equal to the file; answers the difference. With `onlyNew` a file that was the last one applied changes nothing. */
  applyText(text: string, options: { readonly dryRun: boolean; readonly onlyNew: boolean; readonly file: string }): Promise<readonly string[]> {
    const { document, problems } = checkText(text, this.#ports)
    const fatal = problems.filter((problem) => problem.unroutable !== true)
    if (fatal.length > 0) throw new CatalogError(fatal, options.file)
    const digest = createHash('sha256').update(JSON.stringify(document)).digest('hex')
    return this.#inTurn(async () => {
      await this.#adoptNewer()
      if (options.onlyNew && digest === this.#fileDigest) return []
      const next = this.#successor(document)
      const lines = difference(withBundled(this.#document), withBundled(next))
      if (!options.dryRun && (lines.length > 0 || digest !== this.#fileDigest)) await this.#apply(next, digest)
      return lines
    })
  }

  /** Replaces the whole document; a provider without credentials keeps those it has. */
  applyDocument(document: CatalogDocument, dryRun: boolean): Promise<readonly string[]> {
    return this.#inTurn(async () => {
      await this.#adoptNewer()
      // A document read from here comes back with the bundled entries in it.
      const next = this.#successor(withoutBundled(document))
      const lines = difference(withBundled(this.#document), withBundled(next))
      if (!dryRun && lines.length > 0) await this.#apply(next, this.#fileDigest)
      return lines
    })
  }

  putProvider(slug: string, entry: ProviderEntry): Promise<'created' | 'changed'> {
    return this.#edit((document) => {
      const known = withBundled(document).providers[slug] !== undefined
      return [known ? 'changed' : 'created', { ...document, providers: { ...document.providers, [slug]: entry } }]
    })
  }

  /** false = no such provider. */
  deleteProvider(slug: string): Promise<boolean> {
    return this.#edit((document) => {
      const explicit = withExplicit(document, { provider: slug })
      const { [slug]: removed, ...providers } = explicit.providers
      return [removed !== undefined, { ...explicit, providers }]
    })
  }

  putModel(entry: ModelEntry): Promise<'created' | 'changed'> {
    return this.#edit((document) => {
      const known = withBundled(document).models.some(({ id }) => id === entry.id)
      return [known ? 'changed' : 'created', { ...document, models: [...document.models.filter(({ id }) => id !== entry.id), entry] }]
    })
  }

  deleteModel(id: string): Promise<boolean> {
    return this.#edit((document) => {
      const explicit = withExplicit(document, { model: id })
      const models = explicit.models.filter((model) => model.id !== id)
      return [models.length < explicit.models.length, { ...explicit, models }]
    })
  }

  patchSettings(settings: SettingsEntry): Promise<void> {
    return this.#edit((document) => [undefined, { ...document, settings: { ...document.settings, ...settings } }])
  }

  /** Wraps the credentials anew with the first key; the catalogue itself does not change. */
  rewrap(): Promise<void> {
    return this.#inTurn(() => this.#apply(this.#document, this.#fileDigest))
  }

  credentialCount(): number {
    return Object.values(credentialsOf(this.#document)).reduce((sum, keys) => sum + keys.length, 0)
  }

  /** The effective document with each credential cut to its last four characters. */
  shown(): CatalogDocument {
    return withMaskedCredentials(withBundled(this.#document))
  }

  /** The operator's document as YAML, without credentials. */
  exportText(): string {
    return documentYaml(withoutCredentials(this.#document))
  }

  /** The price an endpoint had for the client in some version; null when that version did not sell it. */
  async priceOf(version: number, modelId: string, endpointId: string): Promise<PriceSheet | null> {
    const snapshot = this.#versions.get(version) ?? (await this.#loadVersion(version))
    return snapshot?.models.get(modelId)?.endpoints.find(({ id }) => id === endpointId)?.sell ?? null
  }

  async #loadVersion(version: number): Promise<Snapshot | null> {
    const stored = await this.#ports.store.byVersion(version)
    if (stored === null) return null
    return this.#keep(buildSnapshot(parseStored(stored.document).effective, version, stored.createdAtMs))
  }

  #edit<T>(change: (document: CatalogDocument) => readonly [T, CatalogDocument]): Promise<T> {
    return this.#inTurn(async () => {
      await this.#adoptNewer()
      const [result, changed] = change(this.#document)
      const next = this.#successor(changed)
      if (!isDeepStrictEqual(next, this.#document)) await this.#apply(next, this.#fileDigest)
      return result
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(work)
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  /** `document` with what it takes over from the one it replaces: dates of first use, credentials, the maintenance notice. Throws CatalogError. */
  #successor(document: CatalogDocument): CatalogDocument {
    const before = this.#document
    const problems: Problem[] = []
    const created = new Map(withBundled(before).models.map((model) => [model.id, model.created]))
    const now = new Date(this.#ports.clock.now()).toISOString()
    const models = document.models.map((model) => (model.created === undefined ? { ...model, created: created.get(model.id) ?? now } : model))
    const maintenance = before.settings.maintenance
    const settings = maintenance === undefined || document.settings.maintenance !== undefined ? document.settings : { ...document.settings, maintenance }
    const next = keepCredentials(before, { ...document, settings, models }, problems)
    problems.push(...soundnessProblems(next).map((problem) => ({ ...problem, line: 0 })))
    if (problems.length > 0) throw new CatalogError(problems)
    return next
  }

  async #adoptNewer(): Promise<boolean> {
    const latest = await this.#ports.store.latest()
    if (latest === null || latest.version <= this.#snapshot.priceVersion) return false
    this.#adopt(latest)
    return true
  }

  #adopt(latest: StoredVersion): void {
    this.#document = withCredentials(parseStored(latest.document).own, openCredentials(latest.credentials, this.#ports.seal))
    this.#fileDigest = latest.fileDigest
    this.#use(latest.version, latest.createdAtMs)
  }

  async #apply(document: CatalogDocument, fileDigest: string | null): Promise<void> {
    const atMs = this.#ports.clock.now()
    const credentials = sealCredentials(credentialsOf(document), this.#ports.seal)
    const own = withoutCredentials(document)
    // The effective part is what a charge is replayed by, whatever a later release bundles.
    const stored = JSON.stringify({ own, effective: withBundled(own) })
    const version = await this.#ports.store.append({ document: stored, credentials, fileDigest, atMs })
    this.#document = document
    this.#fileDigest = fileDigest
    this.#use(version, atMs)
  }

  #use(version: number, atMs: number): void {
    this.#snapshot = this.#keep(buildSnapshot(withBundled(this.#document), version, atMs))
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

/** Faults between entries; paths count in the operator's own lists. */
function soundnessProblems(document: CatalogDocument): ReturnType<typeof crossProblems> {
  const effective = withBundled(document)
  return crossProblems(effective, effective.models.length - document.models.length)
}

function parseStored(text: string): { readonly own: CatalogDocument; readonly effective: CatalogDocument } {
  // Written by this class from a validated document.
  return JSON.parse(text) as { own: CatalogDocument; effective: CatalogDocument }
}
