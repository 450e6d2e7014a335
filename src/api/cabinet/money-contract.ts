import { TIME_RANGE } from '../../base/time-range.ts'
import {
  body,
  filled,
  flag,
  list,
  nullable,
  object,
  oneOf,
  only,
  optional,
  rub,
  text,
  time,
  whole,
  day,
  type Static,
} from '../../base/schema.ts'
import { type WireRoute } from '../../base/wire-route.ts'
import { EXAMPLE_DAYS, FileFormat } from '../records/route-rows.ts'
import { RefusalSums } from '../records/refusals.ts'
import { CURSOR, PAGE_SIZE, cursored, DaySums, SpendSums } from './log-contract.ts'
import { Statement } from '../records/statement.ts'
import { AccountLimit } from '../records/limits-contract.ts'
import { Key } from './key-contract.ts'

export const Money = object({ balance: rub(), available: rub(), reserved: rub() })
export type Money = Static<typeof Money>

export const EntryKind = oneOf(['topup', 'refund', 'adjustment', 'charge'])
export type EntryKind = Static<typeof EntryKind>

export const Entry = object({
  id: whole(),
  at: time(),
  kind: EntryKind,
  amount: rub('As it changed the balance: charges and refunds are negative.'),
  balance: nullable(
    rub('Of the account after it; null if a filter leaves out more than 10,000 entries above it on the page.'),
  ),
  reference: text("A charge's generation id, or what the credit was known by: `yookassa:…`, `code:…`, the operator's."),
  payment: nullable(text('The id of the payment that it books or gives back.')),
  reason: nullable(text()),
})
export type Entry = Static<typeof Entry>

export const EntryFilter = oneOf([...EntryKind.enum, 'money'], '`money`: everything but charges.')

export const LEDGER_FILTERS = { kind: optional(EntryFilter), ...TIME_RANGE }

export const LedgerQuery = object({
  ...LEDGER_FILTERS,
  cursor: optional(CURSOR),
  offset: optional(whole('Rows that are skipped.')),
  limit: optional(PAGE_SIZE),
  format: optional(FileFormat),
})
export type LedgerQuery = Static<typeof LedgerQuery>

export const PaymentMethod = object({ id: only('yookassa'), name: text(), least: rub(), most: rub() })
export type PaymentMethod = Static<typeof PaymentMethod>

export const Payment = object({
  id: text(),
  method: only('yookassa'),
  amount: rub(),
  currency: only('RUB'),
  state: oneOf(['pending', 'paid', 'cancelled'], '`paid`: the balance has it.'),
  confirmation_url: nullable(text('Where the customer pays; null once it is over.')),
  created_at: time(),
  paid_at: nullable(time()),
  refunded: rub('What the provider has given back.'),
})
export type Payment = Static<typeof Payment>

export const EntryPage = object({
  ...cursored(Entry).fields,
  total: whole('How many there are in all.'),
  ...Money.fields,
})
export type EntryPage = Static<typeof EntryPage>
export const CodeBody = body({ code: filled('', 100) })
export const Redeemed = object({ amount: rub(), balance: rub() })
export const PageQuery = object({ cursor: optional(CURSOR), limit: optional(PAGE_SIZE) })
export const PaymentQuery = object({ ...PageQuery.fields, format: optional(FileFormat) })
export const PaymentBody = body({ method: filled('One of `methods`.', 40), amount: rub('Whole kopecks.') })
export type PaymentBody = Static<typeof PaymentBody>
export const PaymentPage = object({
  ...cursored(Payment).fields,
  methods: list(PaymentMethod, 'Empty when no payment provider is set up.'),
})
export const StatementQuery = object({ from: day(), to: day('Included. At most 366 days in all.') })

export const Summary = object({
  money: Money,
  account_limit: nullable(AccountLimit, 'The limit that the operator has set for all keys together; null = none.'),
  today: SpendSums,
  last_7_days: SpendSums,
  last_30_days: SpendSums,
  days: list(DaySums, '30 days, the last is today; days without requests are there with zeros.'),
  top_models: list(object({ ...SpendSums.fields, model: text() }), 'Of the last 30 days, at most 5, by cost.'),
  keys_near_limit: list(
    Key,
    'Keys that have used 80 % of their limit or more, whose expiry is within 7 days, or whose limit was too small for a request today.',
  ),
  refused_today: RefusalSums,
  keys: whole(),
  has_requests: flag('The first-request guide is shown while there was none.'),
  example_model: nullable(text("For the snippets: the account's default model, else a cheap chat model that is on.")),
})
export type Summary = Static<typeof Summary>

/** The account's money. */
export const MONEY_ROUTES = {
  'GET /cabinet/v1/summary': { summary: 'The first page after signing in.', answer: Summary, example: {} },
  'GET /cabinet/v1/ledger': {
    summary: 'The entries of the account, newest first, and its money.',
    query: LedgerQuery,
    answer: EntryPage,
    example: { query: { kind: 'money' } },
  },
  'GET /cabinet/v1/statement': {
    summary: 'A statement of whole days: opening + lines = closing. At most 366 days.',
    query: StatementQuery,
    answer: Statement,
    example: { query: EXAMPLE_DAYS },
  },
  'POST /cabinet/v1/codes/redeem': {
    summary:
      'Redeems a code for money. 404 for an unknown, used-up or expired code; 409 when this account has used it; 429 after 10 tries in an hour.',
    body: CodeBody,
    answer: Redeemed,
    errors: ['not_found', 'conflict', 'rate_limit_exceeded'],
    example: { body: { code: 'VB3K-Q9XT-2MNR-7DWA-0000' } },
  },
  'GET /cabinet/v1/payments': {
    summary: 'Orders at the payment provider, newest first, and the methods there are.',
    query: PaymentQuery,
    answer: PaymentPage,
  },
  'POST /cabinet/v1/payments': {
    summary: 'Orders a payment: send the browser to `confirmation_url`. It comes back to `/top-up?payment=<id>`.',
    body: PaymentBody,
    answer: Payment,
    status: 201,
    errors: ['service_unavailable'],
    example: { body: { method: 'yookassa', amount: 500 } },
  },
  'GET /cabinet/v1/payments/:id': { summary: 'One order.', answer: Payment },
  'POST /cabinet/v1/payments/:id/check': {
    summary: 'Asks the provider now instead of waiting for its notification.',
    body: object({}),
    answer: Payment,
    errors: ['not_found', 'service_unavailable'],
  },
} as const satisfies Readonly<Record<string, WireRoute>>
