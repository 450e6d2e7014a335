import {
  body,
  map,
  maybe,
  filled,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  text,
  time,
  whole,
  type Static,
} from '../../base/schema.ts'
import { ABOVE_0 } from '../../catalog/entry-fields.ts'
import { MODEL_TYPES } from '../../tables/model-types.ts'
import type { AdminWireRoute } from './admin-route.ts'
import { Prices } from '../cabinet/model-contract.ts'
import { Deleted } from '../records/route-rows.ts'
import { MARKUP } from './account-contract.ts'
import { MODEL } from './catalog-body.ts'
import { listed, PageQuery, EXTERNAL_ID, EXTERNAL_ID_CHANGE, recordRows } from './record-contract.ts'

export const AccountGroup = object(
  {
    id: text(),
    external_id: EXTERNAL_ID,
    name: text(),
    markup: text('What the prices of its accounts are multiplied with, an exact decimal.'),
    accounts: whole('How many are in it.'),
    created_at: time(),
  },
  'Accounts that pay by one rule. The markup of an account itself comes before that of its group.',
)
export type AccountGroup = Static<typeof AccountGroup>

const NAME = filled('Of one group.', 200)
export const AccountGroupBody = body({ name: NAME, markup: MARKUP })
export type AccountGroupBody = Static<typeof AccountGroupBody>
export const AccountGroupPatch = body({
  external_id: EXTERNAL_ID_CHANGE,
  name: optional(NAME),
  markup: optional(MARKUP),
})
export type AccountGroupPatch = Static<typeof AccountGroupPatch>

export const CustomerPriceQuery = object({
  ...PageQuery.fields,
  account: optional(text('What one account pays for each model.')),
  model: optional(text('What each account pays for one model.')),
  query: optional(text('Finds models by parts of id or name; accounts by words, as their list does.')),
})

export type CustomerPriceQuery = Static<typeof CustomerPriceQuery>

const CustomerLines = list(
  object({
    price: text('As in the file: `prompt`, `completion`, …'),
    cost: text("The provider's."),
    listed: text("Everybody's."),
    paid: text("The customer's."),
    margin_percent: nullable(number('(paid − cost) / paid in percent, one decimal; null when it is free.')),
  }),
)

export const CustomerEndpoint = object({
  endpoint: text(),
  provider_name: text(),
  rule: oneOf(
    ['sell', 'model', 'provider', 'service', 'none'],
    "What made everybody's price: a `sell` of the endpoint, or the nearest `markup`; `none` = the provider's own price.",
  ),
  markup: nullable(text('Of that rule; null = a `sell`, or none.')),
  lines: CustomerLines,
  conditions: list(
    object({ condition: text('Such as `above 200000`, `flex` or `16:30-00:30 UTC`.'), lines: CustomerLines }),
    'Prices under conditions; those that are not named stay as they are.',
  ),
})
export type CustomerEndpoint = Static<typeof CustomerEndpoint>

export const CustomerPrice = object(
  {
    account: text(),
    account_name: text(),
    group: nullable(text()),
    rule: oneOf(['account', 'group', 'none'], "Whose markup everybody's price is multiplied with."),
    markup: nullable(text()),
    model: text(),
    model_name: text(),
    type: oneOf(MODEL_TYPES),
    endpoints: list(CustomerEndpoint),
  },
  'What an account pays for a model, and by which rules, in RUB: per million tokens or characters, else per unit; exact decimals.',
)
export type CustomerPrice = Static<typeof CustomerPrice>

/** The routes of what customers pay, a part of the operator's contract. */
export const GROUP_ROUTES = {
  'GET /admin/v1/account-groups': {
    command: 'account group-list',
    scope: 'accounts:read',
    summary: 'Groups of accounts, by name.',
    answer: listed(AccountGroup),
  },
  'POST /admin/v1/account-groups': {
    command: 'account group-create [name]',
    scope: 'accounts:write',
    parts: { markup: 'money:write' },
    summary: 'Makes a group of accounts. `PATCH /admin/v1/accounts/:id` puts an account into it.',
    body: AccountGroupBody,
    answer: AccountGroup,
    status: 201,
    errors: ['conflict'],
    example: { body: { name: 'Partners', markup: '0.9' } },
  },
  ...recordRows('/admin/v1/account-groups/:id', ['accounts:read', 'accounts:write'], AccountGroup, {
    GET: { command: 'account group-show', summary: 'One group.' },
    PUT: {
      command: 'account group-put',
      parts: { markup: 'money:write' },
      summary: 'Makes the group of an external id, or makes it equal to the body. The same body again changes nothing.',
      body: AccountGroupBody,
      example: { path: { id: 'external:schools' }, body: { name: 'Schools', markup: '0.8' } },
    },
    PATCH: {
      command: 'account group-update',
      parts: { markup: 'money:write' },
      summary:
        'Changes the fields that are given, for requests that begin afterwards: at once on the node that is asked, on the others within 5 seconds.',
      body: AccountGroupPatch,
      example: { body: { markup: 0.85 } },
    },
    DELETE: {
      command: 'account group-delete',
      summary: 'Deletes a group without accounts; 409 if there are any in it.',
      errors: ['not_found', 'conflict'],
    },
  }),
  'GET /admin/v1/customer-prices': {
    command: 'price customers',
    scope: 'accounts:read',
    summary: 'What one account pays for each model, or each account for one model, and which rules make the price.',
    query: CustomerPriceQuery,
    answer: listed(CustomerPrice),
    errors: ['not_found'],
    example: { query: { model: 'acme/large' } },
  },
} as const satisfies Readonly<Record<string, AdminWireRoute>>

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
