import { PageQuery, EXTERNAL_ID, EXTERNAL_ID_CHANGE } from './record-contract.ts'
import {
  body,
  filled,
  flag,
  list,
  nullable,
  object,
  oneOf,
  optional,
  rub,
  text,
  time,
  whole,
  type Static,
} from '../../base/schema.ts'

export const Code = object(
  {
    id: text(),
    external_id: EXTERNAL_ID,
    label: text('Its first four characters.'),
    amount: rub(),
    uses_max: whole('How many accounts may use it, once each.'),
    uses: whole(),
    expires_at: nullable(time()),
    note: nullable(text()),
    disabled: flag(),
    created_by: text(),
    created_at: time(),
  },
  'A code that customers redeem for money.',
)
export type Code = Static<typeof Code>

export const CodeBody = body({
  external_id: EXTERNAL_ID_CHANGE,
  amount: rub('Of each code, above 0.', { exclusiveMinimum: 0 }),
  count: optional(whole('Codes to make; 1 if absent.', { minimum: 1, maximum: 1_000 })),
  uses_max: optional(whole('1 if absent.', { minimum: 1, maximum: 1_000_000 })),
  expires_at: optional(nullable(time())),
  note: optional(nullable(filled())),
})
export type CodeBody = Static<typeof CodeBody>

/** What a client describes of a code. */
export const CodePut = body({
  amount: rub('Above 0. A code keeps it.', { exclusiveMinimum: 0 }),
  uses_max: CodeBody.fields.uses_max,
  expires_at: CodeBody.fields.expires_at,
  note: CodeBody.fields.note,
  disabled: optional(flag('It stays as it is if absent.')),
})
export const PutCode = object({ ...Code.fields, code: optional(text('In the answer that makes it only.')) })

export const PaymentRow = object({
  id: text(),
  account: text(),
  method: text(),
  amount: rub(),
  currency: text(),
  state: oneOf(['pending', 'paid', 'cancelled']),
  payment_id: nullable(text()),
  refunded: rub(
    "What the provider has given back, and how much of that the account had spent by then: the operator's loss.",
  ),
  refund_missing: rub(),
  created_at: time(),
  paid_at: nullable(time()),
})
export type PaymentRow = Static<typeof PaymentRow>

export const CodePatch = body({
  external_id: EXTERNAL_ID_CHANGE,
  disabled: optional(flag()),
  note: optional(nullable(filled())),
})
export const NewCodes = object({ data: list(object({ ...Code.fields, code: text('Shown this once.') })) })
export const CreatedSort = oneOf(['created_at', '-created_at'], '`-created_at`, the newest first, if absent.')
const ONE = optional(text('Of one.'))
export const CodeQuery = object({ ...PageQuery.fields, id: ONE, sort: optional(CreatedSort) })
export const PaymentQuery = object({
  ...PageQuery.fields,
  account: optional(text()),
  id: ONE,
  sort: optional(CreatedSort),
})
