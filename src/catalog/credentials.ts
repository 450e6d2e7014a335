import type { Cipher } from '../lib/cipher.ts'
import type { CatalogDocument, ProviderEntry } from './document.ts'
import { fault, type Fault } from './problem.ts'
import { ownValue } from '../base/own-value.ts'

/** Keys of each provider, by slug. */
export type Credentials = Readonly<Record<string, readonly string[]>>

const SHOWN_CHARACTERS = 4
/** Shorter keys are masked whole: four characters would reveal too much of them. */
const SHOWN_FROM_LENGTH = 8
const MASK = '…'

export function credentialsOf(document: CatalogDocument): Credentials {
  return Object.fromEntries(
    Object.entries(document.providers).flatMap(([slug, { api_key: keys }]) =>
      keys === undefined ? [] : [[slug, keys]],
    ),
  )
}

export function withoutCredentials(document: CatalogDocument): CatalogDocument {
  return mapProviders(document, (_slug, entry) => withKeys(entry, undefined))
}

export function withCredentials(document: CatalogDocument, credentials: Credentials): CatalogDocument {
  return mapProviders(document, (slug, entry) => withKeys(entry, ownValue(credentials, slug)))
}

/** The document for display: each key is cut to its last characters. */
export function withMaskedCredentials(document: CatalogDocument): CatalogDocument {
  return mapProviders(document, (_slug, entry) => withKeys(entry, entry.api_key?.map(maskedKey)))
}

function maskedKey(key: string): string {
  return key.length < SHOWN_FROM_LENGTH ? MASK : `${MASK}${key.slice(-SHOWN_CHARACTERS)}`
}

/**
 * No provider has this name. A value encrypted under it shows at the start whether the key is right, even without
 * credentials.
 */
const PROOF = ''

/** Each provider's keys are encrypted for its slug, so that a row moved to another provider cannot be decrypted. */
export function encryptCredentials(given: Credentials, cipher: Cipher): Buffer {
  const credentials: Credentials = { ...given, [PROOF]: [] }
  const encrypted = Object.entries(credentials).map(([slug, keys]) => [
    slug,
    cipher.encrypt(Buffer.from(JSON.stringify(keys)), purposeOf(slug)).toString('base64'),
  ])
  return Buffer.from(JSON.stringify(Object.fromEntries(encrypted)))
}

export function decryptCredentials(stored: Buffer, cipher: Cipher): Credentials {
  // Written by encryptCredentials; decryption authenticates each value.
  const encrypted = JSON.parse(stored.toString('utf8')) as Readonly<Record<string, string>>
  const opened = Object.entries(encrypted).map(
    ([slug, text]) =>
      [
        slug,
        JSON.parse(cipher.decrypt(Buffer.from(text, 'base64'), purposeOf(slug)).toString('utf8')) as readonly string[],
      ] as const,
  )
  return Object.fromEntries(opened.filter(([slug]) => slug !== PROOF))
}

function purposeOf(slug: string): string {
  return `provider/${slug}/api_key/v1`
}

/**
 * Keys are write-only: a document that leaves a provider's keys out, or returns them masked, keeps the stored ones.
 * They are kept only while the address stays the same; otherwise whoever may edit a provider could have its key sent to
 * themselves.
 */
export function keepCredentials(before: CatalogDocument, after: CatalogDocument, problems: Fault[]): CatalogDocument {
  return mapProviders(after, (slug, entry) => {
    const old = ownValue(before.providers, slug)
    const kept =
      old !== undefined && old.adapter === entry.adapter && old.base_url === entry.base_url ? (old.api_key ?? []) : []
    if (entry.api_key === undefined) return withKeys(entry, kept.length === 0 ? undefined : kept)
    return withKeys(
      entry,
      entry.api_key.map((key) => (key.startsWith(MASK) ? unmasked(key, kept, slug, problems) : key)),
    )
  })
}

function unmasked(masked: string, kept: readonly string[], slug: string, problems: Fault[]): string {
  const key = kept.find((candidate) => maskedKey(candidate) === masked)
  if (key === undefined)
    problems.push(
      fault(
        `providers.${slug}.api_key`,
        'masked_key',
        { given: masked },
        `'${masked}' stands for no key that is sent to this address: give the whole key`,
      ),
    )
  return key ?? ''
}

function withKeys(entry: ProviderEntry, keys: readonly string[] | undefined): ProviderEntry {
  const { api_key: _old, ...rest } = entry
  return keys === undefined ? rest : { ...rest, api_key: keys }
}

function mapProviders(
  document: CatalogDocument,
  change: (slug: string, entry: ProviderEntry) => ProviderEntry,
): CatalogDocument {
  return {
    ...document,
    providers: Object.fromEntries(
      Object.entries(document.providers).map(([slug, entry]) => [slug, change(slug, entry)]),
    ),
  }
}
