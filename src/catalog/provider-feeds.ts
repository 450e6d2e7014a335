import { field, type EntryField } from './entry-fields.ts'

/** The APIs of price lists (`feeds/price-list-api.ts` reads them). */
export const PRICE_LIST_API_NAMES = ['openrouter', 'vercel', 'requesty', 'together', 'deepinfra', 'xai'] as const
export type PriceListApi = (typeof PRICE_LIST_API_NAMES)[number]

/** The APIs of balances (`feeds/provider-balances.ts` reads them). */
export const BALANCE_API_NAMES = ['openrouter', 'deepseek', 'moonshot'] as const
export type BalanceApi = (typeof BALANCE_API_NAMES)[number]

/** As in the catalogue file: the API of the price list, and the rise in percent above which a person must approve. */
export interface PriceListEntry {
  readonly api: PriceListApi
  readonly rise: number
}

/**
 * As in the catalogue file. `low`: the amount in the provider's currency below which the operator gets a notice; 0 =
 * never.
 */
export interface BalanceEntry {
  readonly api: BalanceApi
  readonly low: number
}

const RISE_PERCENT = 10
export const BALANCE_LOW = 10
const LOW_MAX = 1_000_000_000

/** The entry with defaults. Only `api` has none; the field's reader reports an entry without it. */
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
    "The list of prices of the provider that the catalogue follows; a greater rise waits for a person's decision.",
    'api',
  ),
  { api: 'openrouter', rise: RISE_PERCENT },
)

export const BALANCE: EntryField<BalanceEntry> = withDefaults<BalanceEntry>(
  field.map(
    { api: field.oneOf(BALANCE_API_NAMES), low: field.whole(0, LOW_MAX, 'In its currency; 10 if absent.') },
    "The provider whose API reports the operator's balance, and the amount below which the operator gets a notice.",
    'api',
  ),
  { api: 'openrouter', low: BALANCE_LOW },
)
