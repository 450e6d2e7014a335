import { field, type EntryField } from './entry-fields.ts'

/** Whose list of prices a provider may have (`feeds/price-list-api.ts` reads them). */
export const PRICE_LIST_API_NAMES = ['openrouter', 'vercel', 'requesty', 'together', 'deepinfra', 'xai'] as const
export type PriceListApi = (typeof PRICE_LIST_API_NAMES)[number]

/** Services that tell what is left of the money with them (`feeds/balance-api.ts` reads it). */
export const BALANCE_API_NAMES = ['openrouter', 'deepseek', 'moonshot'] as const
export type BalanceApi = (typeof BALANCE_API_NAMES)[number]

/** As in the catalogue file: whose list of prices it has, and the rise in percent above which a hand must approve. */
export interface PriceListEntry {
  readonly api: PriceListApi
  readonly rise: number
}

/** As in the catalogue file. `low`: the amount below which people are told, in the provider's currency; 0 = never. */
export interface BalanceEntry {
  readonly api: BalanceApi
  readonly low: number
}

const RISE_PERCENT = 10
export const BALANCE_LOW = 10
const LOW_MAX = 1_000_000_000

/** Without an API, which the entry then lacks, it is refused. */
function withDefaults<T extends object>({ schema, read }: EntryField<Partial<T>>, defaults: T): EntryField<T> {
  return {
    schema,
    read: (reader, key) => {
      const given = read(reader, key)
      return given === null ? null : { ...defaults, ...given }
    },
  }
}

export const PRICE_LIST: EntryField<PriceListEntry> = withDefaults<PriceListEntry>(
  field.map(
    { api: field.oneOf(PRICE_LIST_API_NAMES), rise: field.whole(0, 1_000, 'Percent; 10 if absent.') },
    'The list of prices of the provider that the catalogue follows; a greater rise waits for a hand.',
    'api',
  ),
  { api: 'openrouter', rise: RISE_PERCENT },
)

export const BALANCE: EntryField<BalanceEntry> = withDefaults<BalanceEntry>(
  field.map(
    { api: field.oneOf(BALANCE_API_NAMES), low: field.whole(0, LOW_MAX, 'In its currency; 10 if absent.') },
    'Whose API tells what is left of the money with it, and below which amount people are told.',
    'api',
  ),
  { api: 'openrouter', low: BALANCE_LOW },
)
