import { object, optional, text } from '../../base/schema.ts'
import type { WireRoute } from '../../base/wire-route.ts'
import type { AdminWireRoute } from '../admin/admin-route.ts'
import { DayRangeQuery } from '../admin/report-contract.ts'
import { EXAMPLE_DAYS } from '../records/route-rows.ts'
import { StatementQuery } from '../cabinet/money-contract.ts'

export const FOCUS_ROUTES = {
  'GET /admin/v1/focus.csv': {
    command: 'focus',
    scope: 'usage:read',
    summary:
      'Usage and cost as CSV by FOCUS 1.2: a row for each day, account, key, model, provider and condition of the price, and for each adjustment. At most 366 days.',
    query: object({
      ...DayRangeQuery.fields,
      account: optional(text("Narrows to one account's, and to its columns.")),
    }),
    answer: { media: 'text/csv' },
    errors: ['not_found'],
    example: { query: EXAMPLE_DAYS },
  },
} as const satisfies Readonly<Record<string, AdminWireRoute>>

/** The same in the cabinet. */
export const FOCUS_ROUTE: WireRoute = {
  summary:
    'Usage and cost as CSV by FOCUS 1.2: a row for each day, key, model, provider and condition of the price, and for each adjustment. At most 366 days.',
  query: StatementQuery,
  answer: { media: 'text/csv' },
  errors: ['invalid_input'],
  example: { query: EXAMPLE_DAYS },
}
