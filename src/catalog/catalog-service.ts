import { createHash } from 'node:crypto'
import { stringify } from 'yaml'
import type { Clock } from '../lib/clock.ts'
import type { PriceSheet } from '../meters.ts'
import type { CatalogStore } from '../store/store.ts'
import { withBundled } from './bundled.ts'
import type { Catalog, Snapshot } from './catalog.ts'
import { difference } from './difference.ts'
import { parseDocumentText, type CatalogDocument, type ModelEntry, type ProviderEntry, type SettingsEntry } from './document.ts'
import { buildSnapshot, crossProblems } from './snapshot.ts'
import type { Problem } from './source-tree.ts'

const VERSIONS_KEPT = 64
const EMPTY: CatalogDocument = Object.freeze({ bundled: true, settings: {}, providers: {}, models: [] })

/** Wraps provider credentials for the store. */
export interface Seal {
  seal(plain: Buffer, purpose: string): Buffer
  open(sealed: Buffer, purpose: string): Buffer
}

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
  const { document, problems } = parseDocumentText(text, context)
  const found = problems.length > 0 ? [] : crossProblems(withBundled(document)).map((problem) => ({ ...problem, line: 0 }))
  return { document, problems: [...problems, ...found] }
}

/** The catalogue's life: what is sold now, how it changes, and what older price versions said. */
export class CatalogService implements Catalog {
  readonly #ports: CatalogPorts
  readonly #versions = new Map<number, Snapshot>()
  readonly #listeners: (() => void)[] = []
  /** As the operator gave it; the bundled part is added when a snapshot is built. */
  #document: CatalogDocument = EMPTY
  #fileDigest: string | null = null
  #snapshot: Snapshot = buildSnapshot(EMPTY, 0, 0)
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
  async load(): Promise<void> {
    const latest = await this.#ports.store.latest()
    if (latest === null) {
      await this.#apply(EMPTY, null)
      return
    }
    const document = parseStored(latest.document)
    const credentials = parseCredentials(this.#ports.seal.open(latest.credentials, 'catalogue'))
    this.#document = withCredentials(document, credentials)
    this.#fileDigest = latest.fileDigest
    this.#use(latest.version, latest.createdAtMs)
  }

  /** Makes the catalogue equal to the file; answers the difference. With `onlyNew` a file that was the last one applied changes nothing. */
  applyText(text: string, options: { readonly dryRun: boolean; readonly onlyNew: boolean; readonly file: string }): Promise<readonly string[]> {
    const { document, problems } = checkText(text, this.#ports)
    const fatal = problems.filter((problem) => problem.unroutable !== true)
    if (fatal.length > 0) throw new CatalogError(fatal, options.file)
    const digest = createHash('sha256').update(JSON.stringify(document)).digest('hex')
    return this.#inTurn(async () => {
      if (options.onlyNew && digest === this.#fileDigest) return []
      const lines = difference(withBundled(this.#document), withBundled(document))
      if (!options.dryRun && (lines.length > 0 || digest !== this.#fileDigest)) await this.#apply(document, digest)
      return lines
    })
  }

  /** Replaces the whole document; a provider without credentials keeps those it has. */
  applyDocument(document: CatalogDocument, dryRun: boolean): Promise<readonly string[]> {
    return this.#inTurn(async () => {
      const next = keepCredentials(this.#document, document)
      assertSound(next)
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

  /** false = no such provider of the operator's own. */
  deleteProvider(slug: string): Promise<boolean> {
    return this.#edit((document) => {
      const { [slug]: removed, ...providers } = document.providers
      return [removed !== undefined, { ...document, providers }]
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
      const models = document.models.filter((model) => model.id !== id)
      return [models.length < document.models.length, { ...document, models }]
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
    const effective = withBundled(this.#document)
    const providers = Object.fromEntries(
      Object.entries(effective.providers).map(([slug, entry]) => [slug, entry.api_key === undefined ? entry : { ...entry, api_key: entry.api_key.map((key) => `…${key.slice(-4)}`) }]),
    )
    return { ...effective, providers }
  }

  /** The operator's document as YAML, without credentials. */
  exportText(): string {
    const { bundled, settings, providers, models } = withoutCredentials(this.#document)
    const { maintenance: _maintenance, ...exported } = settings
    return stringify({ ...(bundled ? {} : { bundled }), ...exported, providers, models })
  }

  /** The price an endpoint had for the client in some version; null when that version did not sell it. */
  async priceOf(version: number, modelId: string, endpointId: string): Promise<PriceSheet | null> {
    const snapshot = this.#versions.get(version) ?? (await this.#loadVersion(version))
    return snapshot?.models.get(modelId)?.endpoints.find(({ id }) => id === endpointId)?.sell ?? null
  }

  async #loadVersion(version: number): Promise<Snapshot | null> {
    const stored = await this.#ports.store.byVersion(version)
    if (stored === null) return null
    return this.#keep(buildSnapshot(withBundled(parseStored(stored.document)), version, stored.createdAtMs))
  }

  #edit<T>(change: (document: CatalogDocument) => readonly [T, CatalogDocument]): Promise<T> {
    return this.#inTurn(async () => {
      const [result, changed] = change(this.#document)
      const next = keepCredentials(this.#document, changed)
      assertSound(next)
      if (JSON.stringify(next) !== JSON.stringify(this.#document)) await this.#apply(next, this.#fileDigest)
      return result
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(work)
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  async #apply(document: CatalogDocument, fileDigest: string | null): Promise<void> {
    const atMs = this.#ports.clock.now()
    const credentials = this.#ports.seal.seal(Buffer.from(JSON.stringify(credentialsOf(document))), 'catalogue')
    const version = await this.#ports.store.append({ document: JSON.stringify(withoutCredentials(document)), credentials, fileDigest, atMs })
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

type Credentials = Readonly<Record<string, readonly string[]>>

function assertSound(document: CatalogDocument): void {
  const problems = crossProblems(withBundled(document)).map((problem) => ({ ...problem, line: 0 }))
  if (problems.length > 0) throw new CatalogError(problems)
}

function credentialsOf(document: CatalogDocument): Credentials {
  return Object.fromEntries(Object.entries(document.providers).flatMap(([slug, { api_key: keys }]) => (keys === undefined ? [] : [[slug, keys]])))
}

function withoutCredentials(document: CatalogDocument): CatalogDocument {
  const providers = Object.fromEntries(
    Object.entries(document.providers).map(([slug, entry]) => {
      const { api_key: _keys, ...rest } = entry
      return [slug, rest]
    }),
  )
  return { ...document, providers }
}

function withCredentials(document: CatalogDocument, credentials: Credentials): CatalogDocument {
  const providers = Object.fromEntries(
    Object.entries(document.providers).map(([slug, entry]) => {
      const keys = credentials[slug]
      return [slug, keys === undefined || entry.api_key !== undefined ? entry : { ...entry, api_key: keys }]
    }),
  )
  return { ...document, providers }
}

/** What comes back from `shown` carries masked credentials, and an entry may leave them out: both mean "unchanged". */
function keepCredentials(before: CatalogDocument, after: CatalogDocument): CatalogDocument {
  const unmasked = Object.fromEntries(
    Object.entries(after.providers).map(([slug, entry]) => {
      if (entry.api_key === undefined || !entry.api_key.some((key) => key.startsWith('…'))) return [slug, entry]
      const { api_key: _masked, ...rest } = entry
      return [slug, rest]
    }),
  )
  return withCredentials({ ...after, providers: unmasked }, credentialsOf(before))
}

function parseStored(text: string): CatalogDocument {
  // Written by this class from a validated document.
  return JSON.parse(text) as CatalogDocument
}

function parseCredentials(plain: Buffer): Credentials {
  // Sealed by this class, and the seal proves it.
  return JSON.parse(plain.toString('utf8')) as Credentials
}
