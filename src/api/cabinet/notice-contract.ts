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
  whole,
  type Static,
} from '../../base/schema.ts'
import { type WireRoute } from '../../base/wire-route.ts'
import { Deleted } from '../records/route-rows.ts'
import {
  NoticeChannel,
  NoticeChannelBody,
  NoticeChannelPatch,
  NoticeDelivery,
  NoticeDeliveryQuery,
} from '../../notices/contract.ts'
import { ACCOUNT_KINDS } from '../../tables/notice-table.ts'

const Kinds = list(oneOf(ACCOUNT_KINDS), 'Kinds of notices that it gets.', { maxItems: 50 })

export const OwnChannel = object(
  {
    ...NoticeChannel.fields,
    kinds: Kinds,
    confirmed: flag('false: it gets nothing before its code is given to `confirm`.'),
  },
  'A receiver of notices of the account.',
)
export type OwnChannel = Static<typeof OwnChannel>
const NewOwnChannel = object({
  ...OwnChannel.fields,
  secret: nullable(text('Signs every message. It is in this answer only; null = not a webhook.')),
})

const Notices = object({
  channels: list(OwnChannel),
  types: list(oneOf(['email', 'telegram', 'webhook']), 'Types that this service is set up for.'),
  low_balance: nullable(rub("The account's own threshold; null = that of the service.")),
  service_low_balance: rub('0: no balance is low.'),
})
export type Notices = Static<typeof Notices>

export const OwnDelivery = object(NoticeDelivery.fields, 'A message to a receiver of the account.')
export const OwnDeliveryQuery = object(NoticeDeliveryQuery.fields)

/** The routes of an account's notices, a part of the cabinet's contract. */
export const NOTICE_ROUTES = {
  'GET /cabinet/v1/notices': {
    summary: "The receivers of the account's notices with their kinds, and the balance below which they get one.",
    answer: Notices,
  },
  'PATCH /cabinet/v1/notices': {
    summary: 'The threshold of a low balance, in rubles; 0: none is low; null: that of the service.',
    body: body({ low_balance: nullable(rub('', { minimum: 0, maximum: 1_000_000_000 })) }),
    answer: Notices,
    example: { body: { low_balance: 500 } },
  },
  'POST /cabinet/v1/notices/channels': {
    summary:
      'Makes a receiver; at most 5. An e-mail address or a chat is sent a code first, and nothing else before `confirm`. 429 after 5 codes of the account in an hour, or 3 to the same address in a day.',
    body: body({ ...NoticeChannelBody.fields, kinds: Kinds }),
    answer: NewOwnChannel,
    status: 201,
    errors: ['conflict', 'rate_limit_exceeded'],
    example: { body: { target: 'https://hooks.example.com/tollgate', kinds: ['balance.low'] } },
  },
  'PATCH /cabinet/v1/notices/channels/:id': {
    summary: 'Changes the fields that are given.',
    body: body({ ...NoticeChannelPatch.fields, kinds: optional(Kinds) }),
    answer: OwnChannel,
    errors: ['not_found'],
    example: { body: { enabled: false } },
  },
  'DELETE /cabinet/v1/notices/channels/:id': { summary: 'Removes a receiver with its messages.', answer: Deleted },
  'POST /cabinet/v1/notices/channels/:id/code': {
    summary: 'Sends another code; the earlier one is good no more. 404 for one that is confirmed.',
    body: body({}),
    answer: object({ sent: only(true) }),
    errors: ['not_found', 'rate_limit_exceeded'],
  },
  'POST /cabinet/v1/notices/channels/:id/confirm': {
    summary: 'Gives the code back. It is good for 30 minutes and 5 tries.',
    body: body({ code: filled('Six digits.', 20) }),
    answer: OwnChannel,
    errors: ['not_found'],
    example: { body: { code: '123456' } },
  },
  'POST /cabinet/v1/notices/channels/:id/test': {
    summary: 'Sends a notice of kind `test`, even while the receiver is off. 409 before it is confirmed.',
    body: body({}),
    answer: object({ notice: text() }),
    status: 202,
    errors: ['not_found', 'conflict', 'rate_limit_exceeded'],
  },
  'GET /cabinet/v1/notices/deliveries': {
    summary: 'Messages of the last 90 days, newest first.',
    query: OwnDeliveryQuery,
    answer: object({
      data: list(OwnDelivery),
      total: whole('How many there are in all.'),
      next_cursor: optional(text('The next page, as `cursor`; absent where the list ends.')),
    }),
    example: { query: { state: 'dead' } },
  },
  'POST /cabinet/v1/notices/deliveries/:id/replay': {
    summary:
      'Sends a message once more, with all its attempts. 404 while it is under way. 429 after 20 of these and of test messages in an hour.',
    body: body({}),
    answer: OwnDelivery,
    errors: ['not_found', 'rate_limit_exceeded'],
  },
} as const satisfies Readonly<Record<string, WireRoute>>
