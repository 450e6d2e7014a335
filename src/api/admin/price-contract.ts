import { body, list, nullable, number, object, optional, text, whole } from '../../base/schema.ts'
import { PriceChange } from './catalog-contract.ts'

export const PriceAccountsQuery = object({
  model: optional(text('Absent = all models whose prices wait for a decision.')),
})
const PriceChanges = object({ data: list(PriceChange) })

const CHANGE = { path: { id: 'prc_Vb3kQ9xT2mLr7dWa' }, body: {} }

/** The routes of prices that follow providers' lists, a part of the operator's contract. */
export const PRICE_ROUTES = {
  'GET /admin/v1/price-changes': {
    command: 'price held',
    scope: 'catalog:read',
    summary: "Prices from providers' lists and from releases that wait for a decision.",
    answer: PriceChanges,
  },
  'POST /admin/v1/price-changes/fetch': {
    command: 'price fetch',
    scope: 'catalog:write',
    summary: 'Fetches the price lists now, applies what needs no decision, and returns the result for each list.',
    body: body({}),
    answer: object({
      data: list(
        object({
          provider: text(),
          applied: list(PriceChange),
          held: list(PriceChange),
          failure: nullable(text('Why the list could not be used.')),
        }),
      ),
    }),
  },
  'GET /admin/v1/price-changes/accounts': {
    command: 'price accounts',
    scope: 'catalog:read',
    summary: 'The accounts that used a model in the last 30 days, those that paid the most first, at most 1,000.',
    query: PriceAccountsQuery,
    answer: object({
      total: whole(),
      data: list(object({ account: text(), requests: whole(), revenue: number('RUB.') })),
    }),
    example: { query: { model: 'acme/large' } },
  },
  'POST /admin/v1/price-changes/:id/approve': {
    command: 'price approve',
    scope: 'catalog:write',
    summary: 'Applies a price that waits. 409 if another person has decided it meanwhile, or the price was changed.',
    body: body({}),
    answer: PriceChange,
    example: CHANGE,
  },
  'POST /admin/v1/price-changes/:id/reject': {
    command: 'price reject',
    scope: 'catalog:write',
    summary: 'Keeps the price as it is; the same change is not proposed again.',
    body: body({}),
    answer: PriceChange,
    example: CHANGE,
  },
} as const
