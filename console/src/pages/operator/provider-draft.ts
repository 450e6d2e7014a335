import { PROVIDER_TIMEOUTS } from '../../../../src/tables/settings-table.ts'
import type { ProviderEntry } from '../../../../src/api/admin/catalog-contract.ts'

type Timeouts = NonNullable<ProviderEntry['timeouts']>
export type TimeoutName = keyof Timeouts

export const TIMEOUT_NAMES = Object.keys(PROVIDER_TIMEOUTS) as readonly TimeoutName[]

/** A provider as the form has it. */
export interface ProviderDraft {
  readonly slug: string
  readonly name: string
  readonly adapter: string
  readonly address: string
  /** New keys, which replace all present ones. Empty fields do not count. */
  readonly keys: readonly string[]
  readonly stops: boolean
  /** Empty = the service's. */
  readonly markup: string
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
    stops: entry?.cancel_stops_billing ?? false,
    markup: String(entry?.markup ?? ''),
    timeouts,
  }
}

/**
 * The entry that a draft describes. Fields that the form does not show stay as in `before`, and so do the credentials
 * if no new key is given.
 */
export function providerEntry(draft: ProviderDraft, before: ProviderEntry | null): ProviderEntry {
  const { name: _name, base_url: _address, timeouts: _timeouts, markup: _markup, ...kept } = before ?? { adapter: '' }
  const keys = draft.keys.filter((key) => key !== '')
  const timeouts: Timeouts = Object.fromEntries(
    Object.entries(draft.timeouts)
      .filter(([, seconds]) => seconds !== '')
      .map(([name, seconds]) => [name, Number(seconds)]),
  )
  return {
    ...kept,
    adapter: draft.adapter.trim(),
    ...(draft.stops || kept.cancel_stops_billing !== undefined ? { cancel_stops_billing: draft.stops } : {}),
    ...(draft.name.trim() === '' ? {} : { name: draft.name.trim() }),
    ...(draft.address.trim() === '' ? {} : { base_url: draft.address.trim() }),
    ...(draft.markup === '' ? {} : { markup: draft.markup }),
    ...(keys.length === 0 ? {} : { api_key: keys }),
    ...(Object.keys(timeouts).length === 0 ? {} : { timeouts }),
  }
}
