import type { Cipher } from '../base/cipher.ts'
import { MASK } from './dialect.ts'
import type { CatalogDocument, ProviderEntry } from './document.ts'
import { AUTH_SECRETS, authAddresses, authSecrets, missingSecret, withAuthSecrets, type AuthEntry } from './auth.ts'
import { fault, type Fault } from './source-tree.ts'
import { ownValue } from '../base/own-value.ts'

/**
 * Keys of each provider, by slug; its fixed headers, in the order of their names, by slug and `HEADERS`; the secrets of
 * its `auth` as JSON, by slug and `AUTH`.
 */
export type Credentials = Readonly<Record<string, readonly string[]>>

const SHOWN_CHARACTERS = 4
/** Shorter keys are masked whole: four characters would reveal too much of them. */
const SHOWN_FROM_LENGTH = 8
/** No slug ends with these suffixes. */
const HEADERS = ' headers'
const AUTH = ' auth'

export function credentialsOf(document: CatalogDocument): Credentials {
  return Object.fromEntries(
    Object.entries(document.providers).flatMap(([slug, { api_key: keys, dialect, auth }]) => [
      ...(keys === undefined ? [] : [[slug, keys] as const]),
      ...(dialect?.headers === undefined ? [] : [[slug + HEADERS, Object.values(dialect.headers)] as const]),
      ...(auth === undefined ? [] : [[slug + AUTH, [JSON.stringify(authSecrets(auth))]] as const]),
    ]),
  )
}

/** The document without keys and with empty values of fixed headers. */
export function withoutCredentials(document: CatalogDocument): CatalogDocument {
  return mapProviders(document, (_slug, entry) =>
    withAuth(
      withHeaders(withKeys(entry, undefined), () => ''),
      () => undefined,
    ),
  )
}

export function withCredentials(document: CatalogDocument, credentials: Credentials): CatalogDocument {
  return mapProviders(document, (slug, entry) => {
    const values = ownValue(credentials, slug + HEADERS) ?? []
    const [text = '{}'] = ownValue(credentials, slug + AUTH) ?? []
    // Written by credentialsOf.
    const secrets = JSON.parse(text) as Readonly<Record<string, string>>
    const keyed = withHeaders(
      withKeys(entry, ownValue(credentials, slug)),
      (_name, _value, index) => values[index] ?? '',
    )
    return withAuth(keyed, (name) => ownValue(secrets, name))
  })
}

/** The document for display: each secret is cut to its last characters. */
export function withMaskedCredentials(document: CatalogDocument): CatalogDocument {
  return mapProviders(document, (_slug, entry) =>
    withAuth(
      withHeaders(withKeys(entry, entry.api_key?.map(maskedKey)), (_name, value) => maskedKey(value)),
      (_name, secret) => (secret === undefined ? undefined : maskedKey(secret)),
    ),
  )
}

function maskedKey(key: string): string {
  return key.length < SHOWN_FROM_LENGTH ? MASK : `${MASK}${key.slice(-SHOWN_CHARACTERS)}`
}

/**
 * No provider has this name. A value encrypted under it shows at the start whether the wrapping key is right, even if
 * there are no credentials.
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
 * Secrets are write-only. A document keeps the stored ones if it leaves a provider's keys out, returns keys or header
 * values masked, or returns headers empty. This holds only while the address stays the same; otherwise anyone who may
 * edit a provider could have its key sent to themselves.
 */
export function keepCredentials(before: CatalogDocument, after: CatalogDocument, problems: Fault[]): CatalogDocument {
  return mapProviders(after, (slug, entry) => {
    const old = ownValue(before.providers, slug)
    const isSame = old !== undefined && old.adapter === entry.adapter && old.base_url === entry.base_url
    const kept = isSame && entry.auth === undefined ? (old.api_key ?? []) : []
    const headers = isSame ? (old.dialect?.headers ?? {}) : {}
    const keys =
      entry.api_key?.map((key) => (key.startsWith(MASK) ? unmasked(key, kept, `${slug}.api_key`, problems) : key)) ??
      (kept.length === 0 ? undefined : kept)
    const keyed = withHeaders(withKeys(entry, keys), (name, value) => {
      const stored = ownValue(headers, name)
      if (value === '') return stored ?? ''
      return value.startsWith(MASK)
        ? unmasked(value, stored === undefined ? [] : [stored], `${slug}.dialect.headers.${name}`, problems)
        : value
    })
    return entry.auth === undefined ? keyed : keptAuth(slug, keyed, entry.auth, isSame ? old.auth : undefined, problems)
  })
}

/** The same for an `auth`: the addresses that get its secrets must also be the same. */
function keptAuth(
  slug: string,
  entry: ProviderEntry,
  auth: AuthEntry,
  before: AuthEntry | undefined,
  problems: Fault[],
): ProviderEntry {
  const isSame = before?.type === auth.type && `${authAddresses(before)}` === `${authAddresses(auth)}`
  const old = isSame ? authSecrets(before) : {}
  const kept = withAuth(entry, (name, secret) => {
    const stored = ownValue(old, name)
    // A field that replaces another leaves no secret of the replaced one.
    const replaced = name === 'key' && (auth.client ?? auth.key_file) !== undefined
    if (secret === undefined) return replaced ? undefined : stored
    const stays = secret.startsWith(MASK)
    return stays ? unmasked(secret, stored === undefined ? [] : [stored], `${slug}.auth.${name}`, problems) : secret
  })
  const missing = kept.auth === undefined ? null : missingSecret(kept.auth)
  if (missing !== null) problems.push(fault(`providers.${slug}.auth.${missing}`, 'required'))
  return kept
}

function withAuth(
  entry: ProviderEntry,
  change: (name: string, secret: string | undefined) => string | undefined,
): ProviderEntry {
  if (entry.auth === undefined) return entry
  const old = authSecrets(entry.auth)
  const secrets = AUTH_SECRETS.map((name) => [name, change(name, ownValue(old, name))] as const)
  return { ...entry, auth: withAuthSecrets(entry.auth, Object.fromEntries(secrets)) }
}

function unmasked(masked: string, kept: readonly string[], path: string, problems: Fault[]): string {
  const key = kept.find((candidate) => maskedKey(candidate) === masked)
  if (key === undefined) problems.push(fault(`providers.${path}`, 'masked_key', { given: masked }))
  return key ?? ''
}

function withKeys(entry: ProviderEntry, keys: readonly string[] | undefined): ProviderEntry {
  const { api_key: _old, ...rest } = entry
  return keys === undefined ? rest : { ...rest, api_key: keys }
}

function withHeaders(
  entry: ProviderEntry,
  change: (name: string, value: string, index: number) => string,
): ProviderEntry {
  const { headers } = entry.dialect ?? {}
  if (headers === undefined) return entry
  const changed = Object.entries(headers).map(([name, value], index) => [name, change(name, value, index)] as const)
  return { ...entry, dialect: { ...entry.dialect, headers: Object.fromEntries(changed) } }
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
