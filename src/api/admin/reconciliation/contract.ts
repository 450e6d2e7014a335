import {
  body,
  filled,
  flag,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  percent,
  rub,
  text,
  type Static,
} from '../../../base/schema.ts'
import type { AdminWireRoute } from '../admin-route.ts'

export const ReconciliationRow = object(
  {
    from: text('Days, both included: one day, or a period of the bill.'),
    to: text(),
    model: text("The provider's own name of it."),
    ours: rub(),
    theirs: rub(),
    difference: rub(),
    difference_percent: nullable(number()),
    verdict: oneOf(['match', 'billed_more', 'billed_less', 'not_billed', 'not_ours']),
  },
  'Amounts are RUB; `difference` = theirs − ours.',
)
export type ReconciliationRow = Static<typeof ReconciliationRow>

export const Reconciliation = object({
  provider: text(),
  from: text(),
  to: text(),
  tolerance_percent: number(),
  ok: flag('Every line matches.'),
  totals: object({ ours: rub(), theirs: rub(), difference: rub() }),
  data: list(ReconciliationRow),
})
export type Reconciliation = Static<typeof Reconciliation>

export const ReconciliationBody = body({
  provider: filled('Its slug.', 64),
  csv: filled('The bill: a head and lines of day (or period), model and amount.', 8_000_000),
  tolerance: optional(nullable(percent('Percent by which a line may differ, with at most two decimals; 1 if absent.'))),
  currency: optional(nullable(filled('Of a bill without such a column.', 3))),
})
export type ReconciliationBody = Static<typeof ReconciliationBody>

export const RECONCILIATION_ROUTES = {
  'POST /admin/v1/reconciliations': {
    command: 'reconcile',
    scope: 'audit:read',
    summary: "Compares a provider's bill with what its answers cost by the log.",
    body: ReconciliationBody,
    answer: Reconciliation,
    records: { Reconciliation, ReconciliationRow, ReconciliationBody },
    errors: ['not_found'],
    example: { body: { provider: 'sandbox', csv: 'day,model,amount,currency\n2026-01-31,chat,12.50,RUB\n' } },
  },
} as const satisfies Readonly<Record<string, AdminWireRoute>>
