import { withApproved, type ApprovedPrices } from './price-list.ts'
import { authReach } from './auth.ts'
import { BUNDLED, type BaseInput, bundledBase, keysOf, withBundled } from './bundled.ts'
import {
  credentialsOf,
  decryptCredentials,
  encryptCredentials,
  withCredentials,
  withoutCredentials,
} from './credentials.ts'
import type { Cipher } from '../base/cipher.ts'
import type { KnownAdapters } from './catalog.ts'
import { EMPTY_DOCUMENT, type CatalogDocument, type ProviderEntry, type ModelEntry } from './document.ts'
import { addressOf, type FileRights } from './snapshot.ts'
import { ownValue } from '../base/own-value.ts'
import { isDeepStrictEqual } from 'node:util'
import { CatalogFaults, soundnessProblems } from './catalog-check.ts'
import type { ComingPrices } from './coming-prices.ts'
import { successorOf } from './document-edits.ts'
import { priceFaults } from './price-doubts.ts'
import type { Fault } from './source-tree.ts'

/** Everything that makes up a price version. */
export interface CatalogState {
  /** The document as the operator gave it. */
  readonly own: CatalogDocument
  /** The bundled part in force, with the prices of its release until `tollgate catalog update`. */
  readonly base: CatalogDocument
  /** The Central Bank's last good rates, RUB per unit; they survive restarts and failed fetches. */
  readonly feed: Readonly<Record<string, string>>
  /** Providers whose addresses the operator's file gave: these may be private (guarantees.md requirement 14). */
  readonly filed: readonly string[]
  /**
   * The prices that a person approved last, by row, if a list or a release has changed them since. For a row that is
   * absent, a person approved the price in force.
   */
  readonly approved: ApprovedPrices
  /** Changes that count from a later time, the first one first. */
  readonly coming: readonly ComingPrices[]
}

/** The state before the first document. */
export const NOTHING: CatalogState = Object.freeze({
  own: EMPTY_DOCUMENT,
  base: BUNDLED,
  feed: {},
  filed: [],
  approved: {},
  coming: [],
})

interface StoredState extends CatalogState {
  /** Stored so that charges can be replayed, whatever a later release bundles. */
  readonly effective: CatalogDocument
}

/** Keys of the bundled part are encrypted under names that no provider in a file can have. */
const BASE_PREFIX = 'bundled:'

/** The document that is sold: the operator's over the bundled part, the fetched rates over the last known ones. */
export function effectiveDocument({ own, base, feed }: CatalogState): CatalogDocument {
  const document = withBundled(own, base)
  if (own.settings.rates_source === undefined) return document
  return { ...document, settings: { ...document.settings, rates: { ...document.settings.rates, ...feed } } }
}

export function storedText({ own, base, ...rest }: CatalogState): string {
  const open = { own: withoutCredentials(own), base: withoutCredentials(base), ...rest }
  return JSON.stringify({ ...open, effective: effectiveDocument(open) })
}

/** `fileDigest` null = the operator has given no file so far. */
export function parseStored(text: string, fileDigest: string | null): StoredState {
  // Written by storedText from a validated document. Versions from before the bundled models have neither base nor
  // feed. Earlier versions do not say which providers a file gave: if there was a file, all of them count.
  const stored = JSON.parse(text) as Pick<StoredState, 'own' | 'effective'> & Partial<StoredState>
  const { own, base = BUNDLED, feed = {}, approved = {}, coming = [], effective } = stored
  const filed = stored.filed ?? (fileDigest === null ? [] : Object.keys(own.providers))
  return { own, base, feed, effective, filed, approved, coming }
}

export function encryptState({ own, base }: CatalogState, cipher: Cipher): Buffer {
  const bundled = Object.entries(credentialsOf(base)).map(([slug, keys]) => [BASE_PREFIX + slug, keys])
  return encryptCredentials({ ...credentialsOf(own), ...Object.fromEntries(bundled) }, cipher)
}

/** The stored state with its keys in place. */
export function decryptState({ own, base, ...rest }: CatalogState, encrypted: Buffer, cipher: Cipher): CatalogState {
  const all = decryptCredentials(encrypted, cipher)
  const bundled = Object.fromEntries(
    Object.entries(all).flatMap(([name, keys]) =>
      name.startsWith(BASE_PREFIX) ? [[name.slice(BASE_PREFIX.length), keys]] : [],
    ),
  )
  return { ...rest, own: withCredentials(own, all), base: withCredentials(base, bundled) }
}

/**
 * The state with `own` as the operator's document. If no keys come from an environment, the bundled providers keep
 * theirs.
 */
export function stateAfter(
  before: CatalogState,
  own: CatalogDocument,
  input: Pick<BaseInput, 'adapters' | 'release' | 'today' | 'renew'> & { readonly keys: BaseInput['keys'] | null },
): CatalogState {
  const base = bundledBase({ ...input, own, previous: before.base, keys: input.keys ?? keysOf(before.base) })
  return {
    own,
    base: { ...base, models: withApproved(base.models, before.base.models, before.approved) },
    approved: before.approved,
    coming: before.coming,
    feed: feedAfter(before, own),
    filed: before.filed.filter((slug) => {
      const entry = ownValue(own.providers, slug)
      return entry !== undefined && isSameAddress(entry, ownValue(before.own.providers, slug), input.adapters)
    }),
  }
}

export function fileRights(
  { own, base, filed }: CatalogState,
  slug: string,
  entry: ProviderEntry,
  adapters: KnownAdapters,
): FileRights {
  const inFile = filed.includes(slug) ? ownValue(own.providers, slug) : undefined
  const file = entry.dialect?.ca_file
  const isFiled = isSameAddress(entry, inFile, adapters)
  return {
    mayBePrivate: isFiled || isSameAddress(entry, ownValue(base.providers, slug), adapters),
    isFiled,
    mayTrust: file === undefined || file === inFile?.dialect?.ca_file,
  }
}

function isSameAddress(entry: ProviderEntry, given: ProviderEntry | undefined, adapters: KnownAdapters): boolean {
  const addresses = (one: ProviderEntry): string => `${addressOf(one, adapters)} ${authReach(one.auth)}`
  return given !== undefined && addresses(entry) === addresses(given)
}

/**
 * The feed's rates after a change of the operator's document: a rate that the operator changes is newer than a fetched
 * one.
 */
function feedAfter({ own: before, feed }: CatalogState, own: CatalogDocument): CatalogState['feed'] {
  const rateIn = ({ settings }: CatalogDocument, currency: string): string | undefined =>
    ownValue(settings.rates ?? {}, currency)
  const isKept = (currency: string): boolean =>
    rateIn(own, currency) === undefined || rateIn(own, currency) === rateIn(before, currency)
  return Object.fromEntries(Object.entries(feed).filter(([currency]) => isKept(currency)))
}

/** The operator's document after it is changed to `document`. Throws CatalogFaults. */
export function checkedSuccessor(
  state: CatalogState,
  document: CatalogDocument,
  {
    at,
    release,
    after,
  }: {
    readonly at: string
    readonly release: readonly ModelEntry[]
    readonly after: (own: CatalogDocument) => CatalogState
  },
): CatalogDocument {
  const problems: Fault[] = []
  const next = successorOf(withBundled(state.own, state.base), document, at, problems)
  const changed = after(next)
  // Faults that were there before do not refuse this change.
  const before = new Map(state.own.models.map((model) => [model.id, model]))
  const kept = new Set(
    next.models.flatMap((model, index) => (isDeepStrictEqual(before.get(model.id), model) ? [index] : [])),
  )
  const isNew = (path: string): boolean => !kept.has(Number(/\d+/.exec(path)?.[0]))
  const rates = effectiveDocument(changed).settings.rates ?? {}
  const faults = priceFaults(next.models, release, rates).filter(({ path }) => isNew(path))
  problems.push(...soundnessProblems(next, changed.base), ...faults)
  if (problems.length > 0) throw new CatalogFaults(problems)
  return next
}

/** How often a change is tried again when another node's came first. */
const TRIES_MAX = 10

/** Another node has appended a version since this one read the state on which a change is based. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError'
}

/** Repeats a change that another one has overtaken: it reads the state anew, so that neither change is lost. */
export async function onTop<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (thrown) {
      if (!(thrown instanceof OvertakenError) || tries === TRIES_MAX) throw thrown
    }
  }
}
