import { body, list, map, maybe, nullable, object, text, time, whole } from '../../base/schema.ts'
import { ABOVE_0 } from '../../catalog/entry-fields.ts'
import { Prices } from '../cabinet/model-contract.ts'
import { Deleted } from '../records/route-rows.ts'
import { MODEL } from './catalog-body.ts'

/** The most models that one change names. */
export const COMING_MODELS_MAX = 1_000

export const ComingChange = object(
  {
    id: text(),
    from: time('The prices count from then on.'),
    failure: nullable(text('Why it could not be applied at its time; null = it waits.')),
    accounts: whole('Accounts that used these models in the last 30 days. Each is told once.'),
    model_count: whole('Models whose prices it changes.'),
    models: list(
      object({ id: text(), name: text(), before: Prices, after: Prices }),
      "The first 100 of them, at everybody's prices of the cheapest provider.",
    ),
  },
  'Prices that count from a later time on.',
)

const ComingBody = body({
  from: time('At least a minute from now, within a year: every node has heard of it then.'),
  markup: maybe(ABOVE_0),
  providers: maybe(map(ABOVE_0, 'Markups of providers.')),
  models: maybe(
    list(MODEL, 'Models as the catalogue has them: `markup`, `price` and `sell` count, the rest stays as it is.', {
      maxItems: COMING_MODELS_MAX,
    }),
  ),
})

/** The routes of prices that count later. */
export const COMING_ROUTES = {
  'GET /admin/v1/coming-prices': {
    command: 'price coming',
    scope: 'catalog:read',
    summary: 'Changes of prices that count from a later time on, the first one first.',
    answer: object({ data: list(ComingChange) }),
  },
  'POST /admin/v1/coming-prices': {
    command: 'price announce',
    scope: 'catalog:write',
    summary:
      'Changes prices from a time on: the markup of the service, of providers, or prices of models. Customers who used a model are told.',
    body: ComingBody,
    answer: ComingChange,
    status: 201,
    example: { body: { from: '2026-12-01T00:00:00Z', markup: 1.3 } },
  },
  'DELETE /admin/v1/coming-prices/:id': {
    command: 'price withdraw',
    scope: 'catalog:write',
    summary: 'Takes a change back before it counts.',
    answer: Deleted,
  },
} as const
