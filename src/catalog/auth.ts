import { createHash } from 'node:crypto'
import { fieldsOf } from '../base/json-text.ts'
import { ownValue } from '../base/own-value.ts'
import { map, nullable, type Schema } from '../base/schema.ts'
import { HEADER_VALUE, MASK, RESERVED_HEADERS } from './dialect.ts'
import { NAME } from './entry-fields.ts'
import type { FieldReader } from './field-reader.ts'
import { forbiddenUpstream } from './upstream-address.ts'

/** The use of an `auth` field: a secret is stored like a key, an address gets requests, a file is read here. */
interface AuthField {
  readonly is: 'text' | 'secret' | 'address' | 'file' | 'map'
  readonly needed?: true
}

interface AuthTypeRow {
  readonly fields: Readonly<Partial<Record<AuthFieldName, AuthField>>>
  /** The type uses credentials of the machine, whoever wrote the row. */
  readonly ambient?: true
  /** Hosts that may get credentials of the machine even if the API has set the row. */
  readonly hosts?: RegExp
}

export type AuthFieldName =
  | 'token_url'
  | 'authority'
  | 'tenant'
  | 'client'
  | 'secret'
  | 'key'
  | 'key_file'
  | 'scope'
  | 'profile'
  | 'headers'
  | 'params'

const TEXT: AuthField = { is: 'text' }
const NEEDED: AuthField = { is: 'text', needed: true }
const SECRET: AuthField = { is: 'secret' }
const ADDRESS: AuthField = { is: 'address' }
/** Only hosts that serve models: a token of the machine may give access to much else of its vendor. */
const GOOGLE = /^(?:(?:[a-z0-9-]+-)?aiplatform|generativelanguage|aiplatform\.[a-z0-9-]+\.rep)\.googleapis\.com$/
const AWS = /^bedrock(?:-[a-z-]+)?\.[a-z]+(?:-[a-z]+)+-\d+\.amazonaws\.com(?:\.cn)?$/
const AZURE = /^[\w-]+\.(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn)$/
const YANDEX = /^(?:llm|ai|tts|stt|operation|rest-assistant)\.api\.(?:cloud\.yandex\.net|yandexcloud\.kz)$/

/** Every way to get a token, with its fields. The console makes its form from this table. */
export const AUTH_TYPES = {
  oauth: {
    fields: {
      token_url: { is: 'address', needed: true },
      client: TEXT,
      secret: SECRET,
      key: SECRET,
      scope: TEXT,
      headers: { is: 'map' },
      params: { is: 'map' },
    },
  },
  gigachat: { fields: { key: SECRET, scope: TEXT, token_url: ADDRESS } },
  google: { fields: { key: SECRET, key_file: { is: 'file' }, scope: TEXT, token_url: ADDRESS }, hosts: GOOGLE },
  google_metadata: { fields: { scope: TEXT }, ambient: true, hosts: GOOGLE },
  aws: { fields: { profile: TEXT }, ambient: true, hosts: AWS },
  azure: { fields: { tenant: NEEDED, client: NEEDED, secret: SECRET, scope: TEXT, authority: ADDRESS } },
  azure_managed: { fields: { client: TEXT, scope: TEXT }, ambient: true, hosts: AZURE },
  azure_workload: { fields: { tenant: TEXT, client: TEXT, scope: TEXT }, ambient: true, hosts: AZURE },
  yandex: { fields: { key: SECRET, key_file: { is: 'file' }, token_url: ADDRESS }, hosts: YANDEX },
  yandex_metadata: { fields: {}, ambient: true, hosts: YANDEX },
} as const satisfies Readonly<Record<string, AuthTypeRow>>

/** The documentation of the fields of all types. */
export const AUTH_SCHEMAS: Readonly<Record<string, Schema<unknown>>> = Object.fromEntries(
  Object.values<AuthTypeRow>(AUTH_TYPES).flatMap(({ fields }) =>
    Object.entries(fields).map(([name, { is }]) => [name, is === 'map' ? map(nullable(NAME)) : NAME]),
  ),
)

export type AuthType = keyof typeof AUTH_TYPES
// Its keys are the types.
export const AUTH_TYPE_NAMES = Object.keys(AUTH_TYPES) as readonly AuthType[]
/** Fields that are stored like keys. */
export const AUTH_SECRETS = ['key', 'secret'] as const

/** How the tokens of a provider are obtained, as in the catalogue file. Only given fields are present. */
export type AuthEntry = { readonly type: AuthType } & Readonly<
  Partial<Record<Exclude<AuthFieldName, 'headers' | 'params'>, string>>
> &
  Readonly<Partial<Record<'headers' | 'params', Readonly<Record<string, string>>>>>

/** The same for the paid path. */
export interface ProviderAuth {
  readonly entry: AuthEntry
  /** Identifies the entry without revealing it: tokens are kept and shared under this name. */
  readonly print: string
  /** Why the machine's credentials may not be used for this row; null = they may, or it uses none. */
  readonly refusal: string | null
  /**
   * Tokens that were obtained for the entry, the newest last, since a provider's refusal may quote one. Only this field
   * grows.
   */
  readonly issued: string[]
}

const HEADER = /^[a-z][a-z0-9-]{0,63}$/i

/** Reads `auth` of a provider's entry; null = it has none, or no known type. */
export function readAuth(reader: FieldReader, adapter: string): AuthEntry | null {
  const given = reader.map('auth')
  if (given === null) return null
  if (reader.has('api_key')) reader.problem('auth', 'one_credential')
  if (!given.has('type')) given.problem('type', 'required', {}, `is required: one of ${AUTH_TYPE_NAMES.join(', ')}`)
  const type = given.oneOf<AuthType>('type', AUTH_TYPE_NAMES)
  if (type === null) return null
  if (type === 'aws' && adapter !== 'bedrock')
    given.problem('type', 'other_adapter', { adapter: 'bedrock' }, `signs requests of the adapter bedrock alone`)
  const entry: Record<string, unknown> = { type }
  const { fields }: AuthTypeRow = AUTH_TYPES[type]
  for (const [name, field] of Object.entries(fields)) {
    const value = field.is === 'map' ? mapOf(given, name) : textOf(given, name, field)
    if (value !== null) entry[name] = value
  }
  given.done()
  // Each field was read by the rules of its row.
  const read = entry as unknown as AuthEntry
  checkParts(given, read)
  return read
}

function textOf(given: FieldReader, name: string, { is, needed }: AuthField): string | null {
  const value = needed === true ? given.required(name) : given.text(name)
  if (value === null || value === '') return null
  if (is !== 'address') return value
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.hash !== '')
    given.problem(name, 'http_address', { given: value })
  else if (forbiddenUpstream(value)) given.problem(name, 'metadata_address', { given: value })
  return value
}

function mapOf(given: FieldReader, name: string): Readonly<Record<string, string>> | null {
  const map = given.map(name)
  if (map === null) return null
  const values: Record<string, string> = {}
  for (const key of map.keys()) {
    const value = map.text(key) ?? ''
    if (!HEADER.test(key.replaceAll('_', '-')) || (name === 'headers' && isReserved(key)))
      map.problem(
        key,
        'header_name',
        { given: key },
        'must be a name, and not of a header of the connection or the body',
      )
    else if (!HEADER_VALUE.test(value)) map.problem(key, 'header_value')
    values[key] = value
  }
  return values
}

function isReserved(header: string): boolean {
  return header.toLowerCase() !== 'accept' && RESERVED_HEADERS.has(header.toLowerCase())
}

function checkParts(given: FieldReader, { type, key, key_file: file, client }: AuthEntry): void {
  if (key !== undefined && (file ?? client) !== undefined)
    given.problem('key', 'one_credential', {}, `stands in place of ${file === undefined ? 'client' : 'key_file'}`)
  if ((type === 'google' || type === 'yandex') && key !== undefined && !key.startsWith(MASK))
    if (serviceKeyOf(type, key) === null) given.problem('key', 'service_key')
}

/** The secret that an entry lacks and whose stored value may be used; null = none. */
export function missingSecret({ type, key, key_file: file, client, secret }: AuthEntry): 'key' | 'secret' | null {
  if (type === 'azure' || (type === 'oauth' && client !== undefined)) return secret === undefined ? 'secret' : null
  const needsKey = type === 'oauth' || type === 'gigachat' || ((type === 'google' || type === 'yandex') && !file)
  return needsKey && key === undefined ? 'key' : null
}

/** A key of a service account. */
export interface ServiceKey {
  readonly id: string
  /** The account: an address of mail, or an id. */
  readonly issuer: string
  /** PEM. */
  readonly privateKey: string
}

/** The parts of a key; null = the text is not the JSON of such a key. */
export function serviceKeyOf(type: 'google' | 'yandex', text: string): ServiceKey | null {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return null
  }
  const object = fieldsOf(json)
  const id = object[type === 'google' ? 'private_key_id' : 'id']
  const issuer = object[type === 'google' ? 'client_email' : 'service_account_id']
  const pem = object['private_key']
  if (typeof id !== 'string' || typeof issuer !== 'string' || typeof pem !== 'string') return null
  // Yandex writes a warning above it.
  const begin = pem.indexOf('-----BEGIN')
  return begin === -1 ? null : { id, issuer, privateKey: pem.slice(begin) }
}

/** The credentials of HTTP's Basic scheme. Each part is encoded like a field of a form (RFC 6749, 2.3.1). */
export function basicKey(client: string, secret: string): string {
  const encoded = [client, secret].map((part) => new URLSearchParams({ part }).toString().slice('part='.length))
  return Buffer.from(encoded.join(':')).toString('base64')
}

/**
 * Everything in an entry that must never be shown. A service that issues tokens may quote it, so all forms of it are
 * listed.
 */
export function secretsInAuth({ type, key, secret, client = '' }: AuthEntry): readonly string[] {
  const parts = type === 'google' || type === 'yandex' ? (key === undefined ? null : serviceKeyOf(type, key)) : null
  if (parts === null && key !== undefined) return [key, ...Buffer.from(key, 'base64').toString().split(':')]
  if (parts === null) return secret === undefined ? [] : [secret, basicKey(client, secret)]
  // The frame of a key is the same in every key.
  const framed = parts.privateKey.split('-----').filter((part) => !/^[A-Z ]+$/.test(part))
  const lines = framed.map((part) => part.trim()).join('')
  return [parts.id, parts.issuer, lines, lines.replaceAll(/\s/g, '')]
}

/** The addresses to which the entry's secrets are sent; they are checked like the provider's own. */
export function authAddresses({ token_url: url, authority }: AuthEntry): readonly string[] {
  return [url, authority].filter((value) => value !== undefined)
}

/**
 * What an entry asks, and what it uses of the machine. Stored secrets stay only while this is unchanged, since the
 * person who changes it need not be the one who gave them.
 */
export function authReach(entry: AuthEntry | undefined): string {
  if (entry === undefined) return ''
  const machine = isAmbient(entry) ? [entry.type, entry.key_file ?? '', entry.profile ?? ''] : []
  return [...machine, ...authAddresses(entry)].join(' ')
}

/** Whether an entry uses credentials of the machine: its metadata, its environment, its files. */
export function isAmbient({ type, key_file: file }: AuthEntry): boolean {
  return ambientOf(type) || file !== undefined
}

function ambientOf(type: AuthType): boolean {
  const row: AuthTypeRow = AUTH_TYPES[type]
  return row.ambient === true
}

/**
 * Why the machine's credentials are not used for a row that the API has set; null = they are. Otherwise anyone who may
 * edit a provider could have them sent to themselves. So they go only to hosts of their vendor, and are obtained only
 * from its own addresses.
 */
export function ambientRefusal(entry: AuthEntry, baseUrl: string): string | null {
  if (!isAmbient(entry)) return null
  const { hosts }: AuthTypeRow = AUTH_TYPES[entry.type]
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (url?.protocol === 'https:' && url.port === '' && hosts?.test(url.hostname) === true)
    return authAddresses(entry).length === 0 ? null : 'credentials of the machine are got from their own addresses'
  return 'credentials of the machine go only to hosts of their vendor: a catalogue file may send them elsewhere'
}

/** `isFiled`: the row is in the operator's file, so it may use credentials of the machine. */
export function providerAuth(entry: AuthEntry, baseUrl: string, isFiled: boolean): ProviderAuth {
  const print = createHash('sha256').update(JSON.stringify(entry)).digest('base64url')
  return Object.freeze({ entry, print, refusal: isFiled ? null : ambientRefusal(entry, baseUrl), issued: [] })
}

/** The secrets of an entry by their fields. */
export function authSecrets(entry: AuthEntry): Readonly<Record<string, string>> {
  return Object.fromEntries(
    AUTH_SECRETS.flatMap((name) => (entry[name] === undefined ? [] : [[name, entry[name]] as const])),
  )
}

/** The entry with each of its secrets changed; one that becomes undefined is left out. */
export function withAuthSecrets(entry: AuthEntry, secrets: Readonly<Record<string, string | undefined>>): AuthEntry {
  const { key: _key, secret: _secret, ...open } = entry
  const given = AUTH_SECRETS.flatMap((name) => {
    const value = ownValue(secrets, name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...open, ...Object.fromEntries(given) }
}
