import { fieldsOf, type JsonObject } from '../../base/json-text.ts'
import type { BalanceApi } from '../provider-feeds.ts'

/** What is left of the money with a provider. */
export interface LeftMoney {
  readonly amount: number
  readonly currency: string
}

interface BalanceRow {
  /**
   * After the base address, or, with a slash first, on its host; the next one is asked where a key may not ask the
   * first.
   */
  readonly paths: readonly string[]
  /** The most of it in one currency; null = the answer does not tell. */
  readonly read: (body: JsonObject) => LeftMoney | null
}

/** Services that tell the balance of an API key, each by its documentation. */
const BALANCE_APIS: Readonly<Record<BalanceApi, BalanceRow>> = {
  // Keys of some accounts may not read the credits, but each may read its own limit.
  openrouter: {
    paths: ['credits', 'key'],
    read: ({ data }) => {
      const { total_credits: credits, total_usage: usage, limit_remaining: left } = fieldsOf(data)
      const given = finite(credits)
      const used = finite(usage)
      return dollars(given !== null && used !== null ? given - used : finite(left))
    },
  },
  deepseek: { paths: ['/user/balance'], read: deepseekBalance },
  moonshot: { paths: ['users/me/balance'], read: ({ data }) => dollars(finite(fieldsOf(data)['available_balance'])) },
}

/** The addresses to ask, in this order. */
export function balanceUrls(api: BalanceApi, baseUrl: string): readonly string[] {
  return BALANCE_APIS[api].paths.map((path) => new URL(path, `${baseUrl}/`).href)
}

/** null = the answer does not tell. */
export function balanceIn(api: BalanceApi, body: unknown): LeftMoney | null {
  return BALANCE_APIS[api].read(fieldsOf(body))
}

/** One balance for each currency; a provider that says that it takes no more requests has none left. */
function deepseekBalance({ is_available: available, balance_infos: infos }: JsonObject): LeftMoney | null {
  const found = (Array.isArray(infos) ? infos : []).flatMap((info: unknown) => {
    const { currency, total_balance: total } = fieldsOf(info)
    const amount = finite(total)
    return amount !== null && typeof currency === 'string' && /^[A-Z]{3}$/.test(currency) ? [{ amount, currency }] : []
  })
  const most = found.toSorted((one, other) => other.amount - one.amount)[0]
  if (most === undefined) return null
  return available === false ? { ...most, amount: Math.min(most.amount, 0) } : most
}

function dollars(amount: number | null): LeftMoney | null {
  return amount === null ? null : { amount, currency: 'USD' }
}

/** A number, or a text of one. */
function finite(value: unknown): number | null {
  const number = typeof value === 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}
