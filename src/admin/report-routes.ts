import { list, object, optional, text } from '../base/schema.ts'
import type { AdminWireRoute } from '../http/wire-route.ts'
import { listed } from '../api/admin/account-contract.ts'
import {
  AuditEvent,
  AuditReport,
  DayRangeQuery,
  EndpointHealth,
  EventQuery,
  GenerationQuery,
  Generations,
  GenerationStory,
  MarginReport,
  Overview,
  Reconciliation,
  ReconciliationBody,
  ReplayQuery,
  ReplayReport,
  SinceQuery,
  UsageQuery,
  UsageRow,
} from '../api/admin/report-contract.ts'
import { OperatorWarning } from '../api/admin/warning-contract.ts'

const DAYS = { from: '2026-01-01', to: '2026-01-31' }

/** Rows of the admin API that tell what happened, and change nothing. */
export const REPORT_ROUTES = {
  'GET /admin/v1/usage': {
    scope: 'usage:read',
    summary: 'Requests, tokens and money by group.',
    query: UsageQuery,
    answer: listed(UsageRow),
    errors: ['invalid_input'],
    example: { query: { group_by: 'provider' } },
  },
  'GET /admin/v1/margin': {
    scope: 'usage:read',
    summary: 'What was earned, by day, model, provider and account.',
    query: DayRangeQuery,
    answer: MarginReport,
    errors: ['invalid_input'],
    example: { query: DAYS },
  },
  'GET /admin/v1/focus.csv': {
    scope: 'usage:read',
    summary:
      'Usage and cost as CSV by FOCUS 1.2: a row for each day, account, key, model and provider, and for each adjustment. At most 366 days.',
    query: object({
      ...DayRangeQuery.fields,
      account: optional(text("Narrows to one account's, and to its columns.")),
    }),
    answer: { media: 'text/csv' },
    errors: ['invalid_input', 'not_found'],
    example: { query: DAYS },
  },
  'GET /admin/v1/generations': {
    scope: 'log:read',
    summary: 'The log of all accounts, newest first.',
    query: GenerationQuery,
    answer: Generations,
    errors: ['invalid_input'],
    example: { query: { status: 'completed', limit: '20' } },
  },
  'GET /admin/v1/generations/:id': {
    scope: 'log:read',
    summary: 'One request: its attempts with what each provider said, both bills, its hold and its times.',
    answer: GenerationStory,
    errors: ['not_found'],
    example: { path: { id: 'gen-Vb3kQ9xT2mLr7dWa' } },
  },
  'GET /admin/v1/endpoints/health': {
    scope: 'health:read',
    summary: 'Of each endpoint its state, errors, and percentiles.',
    answer: listed(EndpointHealth),
    example: {},
  },
  'GET /admin/v1/audit': {
    scope: 'audit:read',
    summary: 'Checks the invariants of the books.',
    query: SinceQuery,
    answer: AuditReport,
    errors: ['invalid_input'],
    example: {},
  },
  'GET /admin/v1/audit/replay': {
    scope: 'audit:read',
    summary: 'Makes every charge of a period again from the log: price version × meters.',
    query: ReplayQuery,
    answer: ReplayReport,
    errors: ['invalid_input'],
    example: {},
  },
  'POST /admin/v1/reconciliations': {
    scope: 'audit:read',
    summary: "Compares a provider's bill with what its answers cost by the log.",
    body: ReconciliationBody,
    answer: Reconciliation,
    errors: ['invalid_input', 'not_found'],
    example: { body: { provider: 'sandbox', csv: 'day,model,amount,currency\n2026-01-31,chat,12.50,RUB\n' } },
  },
  'GET /admin/v1/events': {
    scope: 'audit:read',
    summary: 'Who changed what, when. The filters match exactly; `action` matches by its beginning.',
    query: EventQuery,
    answer: listed(AuditEvent),
    errors: ['invalid_input'],
    example: { query: { action: 'account.' } },
  },
  'GET /admin/v1/overview': {
    scope: 'usage:read',
    summary: 'What an operator looks at first: the last requests and their errors, low and locked balances, payments.',
    answer: Overview,
    example: {},
  },
  'GET /admin/v1/warnings': {
    scope: 'health:read',
    summary: 'What the operator should look at.',
    answer: object({ data: list(OperatorWarning) }),
    example: {},
  },
} as const satisfies Readonly<Record<string, AdminWireRoute>>
