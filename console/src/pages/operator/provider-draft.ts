import type { ProviderEntry } from '../../../../src/admin/contract.ts'

type Timeouts = NonNullable<ProviderEntry['timeouts']>
export type TimeoutName = keyof Timeouts

/** Seconds that a provider without its own has; of an answer in one piece the first byte may take 300. */
export const TIMEOUT_DEFAULTS: Readonly<Record<TimeoutName, number>> = {
  connect: 3,
  first_byte: 60,
  progress: 60,
  total: 1800,
}
export const TIMEOUT_NAMES = Object.keys(TIMEOUT_DEFAULTS) as readonly TimeoutName[]

/** A provider as the form has it. */
export interface ProviderDraft {
  readonly slug: string
  readonly name: string
  readonly adapter: string
  readonly address: string
  /** New keys, which replace all that there are; those left empty do not count. */
  readonly keys: readonly string[]
  readonly stops: boolean
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
    timeouts,
  }
}

/**
 * The entry that a draft means. What the form does not show stays as `before` has it, credentials too where no new ones
 * are given.
 */
export function providerEntry(draft: ProviderDraft, before: ProviderEntry | null): ProviderEntry {
  const { name: _name, base_url: _address, timeouts: _timeouts, ...kept } = before ?? { adapter: '' }
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
    ...(keys.length === 0 ? {} : { api_key: keys }),
    ...(Object.keys(timeouts).length === 0 ? {} : { timeouts }),
  }
}
