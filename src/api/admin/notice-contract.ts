import {
  NoticeChannel,
  NoticeChannelBody,
  NoticeChannelPatch,
  NoticeDeliveries,
  NoticeDelivery,
  NoticeDeliveryQuery,
} from '../../notices/contract.ts'
import { ACCOUNT_KINDS } from '../../tables/notice-table.ts'
import { body, flag, list, nullable, object, oneOf, optional, rub, text, type Static } from '../../base/schema.ts'
import { EXTERNAL_ID, EXTERNAL_ID_CHANGE, recordRows, Removed } from './record-contract.ts'

/** A receiver of the operator's. */
export const OperatorChannel = object({ ...NoticeChannel.fields, external_id: EXTERNAL_ID })
export type OperatorChannel = Static<typeof OperatorChannel>

export const OperatorChannelPatch = body({ external_id: EXTERNAL_ID_CHANGE, ...NoticeChannelPatch.fields })

/** All of a receiver's terms: those that are left out have their defaults. */
export const OperatorChannelPut = body({
  ...NoticeChannelBody.fields,
  enabled: optional(flag('It stays where it is left out: people switch it in an emergency.')),
})

export const NewNoticeChannel = object({
  ...OperatorChannel.fields,
  secret: nullable(text('Signs every message. It is in this answer only; null = not a webhook.')),
})

export const OperatorDeliveryQuery = object({
  ...NoticeDeliveryQuery.fields,
  account: optional(text("Narrows to the receivers of one account; else the operator's and those of all accounts.")),
})

const AccountKinds = list(oneOf(ACCOUNT_KINDS), 'Kinds of notices that it gets.', { maxItems: 50 })

export const AccountChannel = object({
  ...NoticeChannel.fields,
  target: text('The e-mail address or the id of the chat; of a webhook only its host.'),
  confirmed: flag('false: it gets nothing before its code is given in the cabinet.'),
})
export type AccountChannel = Static<typeof AccountChannel>

export const AccountNotices = object({
  channels: list(AccountChannel, 'Receivers of the account.'),
  low_balance: nullable(rub("The account's own threshold; null = that of the service.")),
  service_low_balance: rub('0: no balance is low.'),
})
export type AccountNotices = Static<typeof AccountNotices>

const ACCOUNT = { id: 'acc_Vb3kQ9xT2mLr7dWa' }
const OWN_CHANNEL = { ...ACCOUNT, channel: 'chn_Qm8sT4xY1bLr6dWe' }
/** The routes of notices, a part of the operator's contract. */
export const NOTICE_ROUTES = {
  'GET /admin/v1/accounts/:id/notices': {
    command: 'account notices',
    scope: 'accounts:read',
    summary: "The receivers of an account's notices, and the balance below which they get one.",
    answer: AccountNotices,
  },
  'PATCH /admin/v1/accounts/:id/notices': {
    command: 'account notices-update',
    scope: 'accounts:write',
    summary: 'The threshold of a low balance, in rubles; 0: none is low; null: that of the service.',
    body: body({ low_balance: nullable(rub('', { minimum: 0, maximum: 1_000_000_000 })) }),
    answer: AccountNotices,
    errors: ['not_found'],
    example: { body: { low_balance: 500 } },
  },
  'POST /admin/v1/accounts/:id/notices/channels': {
    command: 'account channel-create',
    scope: 'accounts:write',
    summary:
      'Makes a receiver of an account, which needs no code; at most 5. The `secret` of a webhook is in this answer only.',
    body: body({ ...NoticeChannelBody.fields, kinds: AccountKinds }),
    answer: object({ ...AccountChannel.fields, secret: nullable(text('null = not a webhook.')) }),
    status: 201,
    example: { body: { target: 'https://hooks.example.com/tollgate', kinds: ['balance.low'] } },
  },
  'PATCH /admin/v1/accounts/:id/notices/channels/:channel': {
    command: 'account channel-update',
    scope: 'accounts:write',
    summary: "Changes the fields of an account's receiver that are given.",
    body: body({ ...NoticeChannelPatch.fields, kinds: optional(AccountKinds) }),
    answer: AccountChannel,
    errors: ['not_found'],
    example: { path: OWN_CHANNEL, body: { enabled: false } },
  },
  'DELETE /admin/v1/accounts/:id/notices/channels/:channel': {
    command: 'account channel-delete',
    scope: 'accounts:write',
    summary: "Removes an account's receiver with its messages.",
    answer: Removed,
    example: { path: OWN_CHANNEL },
  },
  'POST /admin/v1/accounts/:id/notices/channels/:channel/test': {
    command: 'account channel-test',
    scope: 'accounts:write',
    summary:
      "Sends a notice of kind `test` to an account's receiver, even while it is off. 409 before it is confirmed.",
    body: body({}),
    answer: object({ notice: text() }),
    status: 202,
    example: { path: OWN_CHANNEL, body: {} },
  },
  'GET /admin/v1/notices/channels': {
    command: 'notice channels',
    scope: 'settings:read',
    summary: "The receivers of the operator's notices.",
    answer: object({ data: list(OperatorChannel) }),
  },
  'POST /admin/v1/notices/channels': {
    command: 'notice channel-create [target]',
    scope: 'settings:write',
    summary: 'Makes a receiver. The `secret` of a webhook is in this answer only. At most 20.',
    body: NoticeChannelBody,
    answer: NewNoticeChannel,
    status: 201,
    errors: ['conflict'],
    example: { body: { target: 'https://hooks.example.com/tollgate', kinds: ['shortfall', 'balance.low'] } },
  },
  ...recordRows('/admin/v1/notices/channels/:id', ['settings:read', 'settings:write'], OperatorChannel, {
    GET: { command: 'notice channel-show', summary: 'One receiver.' },
    PUT: {
      command: 'notice channel-put',
      summary:
        'Makes the receiver of an external id, or makes it equal to the body. The `secret` of a webhook is in the answer that makes it only.',
      body: OperatorChannelPut,
      answer: object({ ...OperatorChannel.fields, secret: optional(nullable(text('null = not a webhook.'))) }),
      example: {
        path: { id: 'external:on-call' },
        body: { target: 'https://hooks.example.com/on-call', kinds: ['shortfall', 'balance.low'] },
      },
    },
    PATCH: {
      command: 'notice channel-update',
      summary: 'Changes the fields that are given.',
      body: OperatorChannelPatch,
      example: { body: { enabled: false } },
    },
    DELETE: { command: 'notice channel-delete', summary: 'Removes a receiver with its messages.' },
  }),
  'POST /admin/v1/notices/channels/:id/test': {
    command: 'notice test',
    scope: 'settings:write',
    summary: 'Sends a notice of kind `test`, even while the receiver is off.',
    body: body({}),
    answer: object({ notice: text() }),
    status: 202,
    errors: ['not_found'],
  },
  'GET /admin/v1/notices/deliveries': {
    command: 'notice deliveries',
    scope: 'settings:read',
    summary: 'Messages of the last 90 days, newest first.',
    query: OperatorDeliveryQuery,
    answer: NoticeDeliveries,
    errors: ['not_found'],
    example: { query: { state: 'dead' } },
  },
  'POST /admin/v1/notices/deliveries/:id/replay': {
    command: 'notice replay',
    scope: 'settings:write',
    summary: 'Sends a message once more, with all its attempts. 404 while it is under way.',
    body: body({}),
    answer: NoticeDelivery,
    errors: ['not_found'],
  },
} as const
