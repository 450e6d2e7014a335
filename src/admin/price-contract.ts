import { body, list, nullable, number, object, oneOf, optional, text, whole, type Static } from '../schema.ts'
import { PriceEntry } from './catalog-contract.ts'

export const PriceChange = object(
  {
    id: text(),
    model: text(),
    provider: text(),
    endpoint: text("The provider's own name of the model."),
    before: PriceEntry,
    after: PriceEntry,
    reason: nullable(
      oneOf(
        ['rise', 'fall', 'free', 'new_fee', 'currency', 'below_cost'],
        'Why it waits: a rise above the limit of the provider, half the price or less, no price, a price that the row lacks, another currency, a `sell` below the cost. null = it does not.',
      ),
    ),
  },
  'Another price of an endpoint, by the list of its provider.',
)
export type PriceChange = Static<typeof PriceChange>

export const PriceAccountsQuery = object({
  model: optional(text('Absent = all whose prices wait for a hand.')),
})
const PriceChanges = object({ data: list(PriceChange) })

const CHANGE = { path: { id: 'prc_Vb3kQ9xT2mLr7dWa' }, body: {} }

/** The routes of prices that follow providers' lists, a part of the operator's contract. */
export const PRICE_ROUTES = {
  'GET /admin/v1/price-changes': {
    scope: 'catalog:read',
    summary: 'Prices of providers with a `price_list` that wait for a hand.',
    answer: PriceChanges,
    example: {},
  },
  'POST /admin/v1/price-changes/fetch': {
    scope: 'catalog:write',
    summary: 'Fetches the lists of prices now, applies what needs no hand, and answers what became of each list.',
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
    example: { body: {} },
  },
  'GET /admin/v1/price-changes/accounts': {
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
    scope: 'catalog:write',
    summary: 'Applies a price that waits. 404 too if the price was changed meanwhile.',
    body: body({}),
    answer: PriceChange,
    errors: ['invalid_input', 'not_found'],
    example: CHANGE,
  },
  'POST /admin/v1/price-changes/:id/reject': {
    scope: 'catalog:write',
    summary: 'Keeps the price as it is; the same change is not proposed again.',
    body: body({}),
    answer: PriceChange,
    errors: ['not_found'],
    example: CHANGE,
  },
} as const
