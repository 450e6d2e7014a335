import { PROVIDER_TIMEOUTS } from '../../../../src/tables/settings-table.ts'
import { authFields } from 'virtual:adapters'
import type { AuthFieldName, AuthType } from '../../../../src/catalog/auth.ts'
import type { ProviderEntry } from '../../../../src/api/admin/catalog-contract.ts'
import { given, typed } from '../../api/endpoint.ts'

type Timeouts = NonNullable<ProviderEntry['timeouts']>
type TimeoutName = keyof Timeouts

export const TIMEOUT_NAMES = Object.keys(PROVIDER_TIMEOUTS) as readonly TimeoutName[]

/** Fields whose values are texts of one line; other fields stay as the catalogue file has them. */
type SignInField = Exclude<AuthFieldName, 'headers' | 'params'>

/** How the server authenticates: with a key, or with tokens. */
export interface SignIn {
  readonly type: AuthType | 'key'
  /** Typed texts; secrets begin empty. */
  readonly fields: Readonly<Partial<Record<SignInField, string>>>
}

export function authFieldsOf(type: AuthType): readonly { readonly name: SignInField; readonly isSecret: boolean }[] {
  return Object.entries(authFields[type] ?? {}).flatMap(([name, { is }]) =>
    // The others are the names of one-line fields.
    is === 'map' ? [] : [{ name: name as SignInField, isSecret: is === 'secret' }],
  )
}

export function signInOf(entry: ProviderEntry | null): SignIn {
  const auth = entry?.auth
  if (auth === undefined) return { type: 'key', fields: {} }
  const fields = authFieldsOf(auth.type).flatMap(({ name, isSecret }) => {
    const value = auth[name]
    return isSecret || typeof value !== 'string' ? [] : [[name, value] as const]
  })
  return { type: auth.type, fields: Object.fromEntries(fields) }
}

/** The way whose secrets a provider has; null = it has none. */
export function storedWay(entry: ProviderEntry | null): SignIn['type'] | null {
  return entry?.auth?.type ?? (entry?.api_key === undefined ? null : 'key')
}

/** The entry with that authentication. A secret that is not typed stays as it is stored. */
function withSignIn(entry: ProviderEntry, { type, fields }: SignIn, before: ProviderEntry | null): ProviderEntry {
  const { auth: _auth, api_key: keys, ...rest } = entry
  if (type === 'key') return keys === undefined ? rest : { ...rest, api_key: keys }
  const auth = before?.auth?.type === type ? before.auth : null
  const [headers, params] = [auth?.['headers'], auth?.['params']]
  const texts = authFieldsOf(type).map(({ name }) => [name, fields[name] ?? ''])
  return { ...rest, auth: { type, ...typed(Object.fromEntries(texts)), ...given({ headers, params }) } }
}

/** A provider as the form has it. */
export interface ProviderDraft {
  readonly slug: string
  readonly name: string
  readonly adapter: string
  readonly address: string
  /** New keys, which replace all existing ones; empty fields are ignored. */
  readonly keys: readonly string[]
  readonly signIn: SignIn
  readonly stops: boolean
  /** Empty = the default of the service. */
  readonly markup: string
  /** JSON; empty = none. */
  readonly dialect: string
  /** Seconds; empty = the default. */
  readonly timeouts: Readonly<Record<TimeoutName, string>>
}

export function providerDraft(slug: string, entry: ProviderEntry | null): ProviderDraft {
  const timeouts = Object.fromEntries(
    TIMEOUT_NAMES.map((name) => [name, String(entry?.timeouts?.[name] ?? '')]),
  ) as ProviderDraft['timeouts']
  return {
    slug,
    name: entry?.name ?? '',
    adapter: entry?.adapter ?? 'openai',
    address: entry?.base_url ?? '',
    keys: [''],
    signIn: signInOf(entry),
    stops: entry?.cancel_stops_billing ?? false,
    markup: String(entry?.markup ?? ''),
    dialect: entry?.['dialect'] === undefined ? '' : JSON.stringify(entry['dialect'], null, 2),
    timeouts,
  }
}

/** The text parsed as an object; null = it is none. The server checks the rest, field by field. */
export function parsedObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

/** The typed dialect, if any; null = the text is not an object. The server checks the rest, field by field. */
export function parsedDialect(text: string): { readonly dialect?: object } | null {
  if (text.trim() === '') return {}
  const dialect = parsedObject(text)
  return dialect === null ? null : { dialect }
}

/**
 * The entry that a draft describes. Fields that the form does not show stay as in `before`, and so do the credentials
 * if no new key is given.
 */
export function providerEntry(draft: ProviderDraft, before: ProviderEntry | null): ProviderEntry {
  const {
    name: _name,
    base_url: _address,
    timeouts: _timeouts,
    markup: _markup,
    dialect: _dialect,
    ...kept
  } = before ?? { adapter: '' }
  const keys = draft.keys.filter((key) => key !== '')
  const timeouts: Timeouts = Object.fromEntries(
    Object.entries(draft.timeouts)
      .filter(([, seconds]) => seconds !== '')
      .map(([name, seconds]) => [name, Number(seconds)]),
  )
  const entry = {
    ...kept,
    adapter: draft.adapter.trim(),
    ...(draft.stops || kept.cancel_stops_billing !== undefined ? { cancel_stops_billing: draft.stops } : {}),
    ...typed({ name: draft.name, base_url: draft.address, markup: draft.markup }),
    ...(keys.length === 0 ? {} : { api_key: keys }),
    ...(Object.keys(timeouts).length === 0 ? {} : { timeouts }),
    ...parsedDialect(draft.dialect),
  }
  return withSignIn(entry, draft.signIn, before)
}
