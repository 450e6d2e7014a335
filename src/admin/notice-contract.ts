import { NOTICE_KINDS } from '../notice-table.ts'
import { NoticeChannel, NoticeChannelBody, NoticeChannelPatch } from '../notices/channel-contract.ts'
import {
  anything,
  body,
  list,
  map,
  nullable,
  object,
  oneOf,
  only,
  optional,
  text,
  time,
  whole,
  type Static,
} from '../schema.ts'
import { listed, PageQuery } from './account-contract.ts'

export const NewNoticeChannel = object({
  ...NoticeChannel.fields,
  secret: nullable(text('Signs every message. It is in this answer only; null = not a webhook.')),
})

export const NoticeDelivery = object({
  id: text(),
  channel: text(),
  notice: object({
    id: text('Of the event: the same in each attempt.'),
    type: oneOf(NOTICE_KINDS),
    account: nullable(text()),
    created_at: time(),
    data: map(anything()),
  }),
  state: oneOf(['pending', 'sent', 'dead'], '`dead`: given up after its last attempt.'),
  attempts: whole(),
  due_at: nullable(time('Of the next attempt; null = there is none.')),
  error: nullable(text('Of the last attempt.')),
  created_at: time(),
  ended_at: nullable(time()),
})
export type NoticeDelivery = Static<typeof NoticeDelivery>

export const NoticeDeliveryQuery = object({
  ...PageQuery.fields,
  state: optional(oneOf(['pending', 'sent', 'dead'])),
})

const CHANNEL = { id: 'chn_Vb3kQ9xT2mLr7dWa' }

/** The routes of notices, a part of the operator's contract. */
export const NOTICE_ROUTES = {
  'GET /admin/v1/notices/channels': {
    scope: 'settings:read',
    summary: "The receivers of the operator's notices.",
    answer: object({ data: list(NoticeChannel) }),
    example: {},
  },
  'POST /admin/v1/notices/channels': {
    scope: 'settings:write',
    summary: 'Makes a receiver. The `secret` of a webhook is in this answer only. At most 20.',
    body: NoticeChannelBody,
    answer: NewNoticeChannel,
    status: 201,
    errors: ['invalid_input', 'conflict'],
    example: { body: { target: 'https://hooks.example.com/tollgate', kinds: ['shortfall', 'balance.low'] } },
  },
  'PATCH /admin/v1/notices/channels/:id': {
    scope: 'settings:write',
    summary: 'Changes the fields that are given.',
    body: NoticeChannelPatch,
    answer: NoticeChannel,
    errors: ['invalid_input', 'not_found'],
    example: { path: CHANNEL, body: { enabled: false } },
  },
  'DELETE /admin/v1/notices/channels/:id': {
    scope: 'settings:write',
    summary: 'Removes a receiver with its messages.',
    answer: object({ id: text(), deleted: only(true) }),
    errors: ['not_found'],
    example: { path: CHANNEL },
  },
  'POST /admin/v1/notices/channels/:id/test': {
    scope: 'settings:write',
    summary: 'Sends a notice of kind `test`, even while the receiver is off.',
    body: body({}),
    answer: object({ notice: text() }),
    status: 202,
    errors: ['not_found'],
    example: { path: CHANNEL, body: {} },
  },
  'GET /admin/v1/notices/deliveries': {
    scope: 'settings:read',
    summary: 'Messages of the last 90 days, newest first.',
    query: NoticeDeliveryQuery,
    answer: listed(NoticeDelivery),
    errors: ['invalid_input'],
    example: { query: { state: 'dead' } },
  },
  'POST /admin/v1/notices/deliveries/:id/replay': {
    scope: 'settings:write',
    summary: 'Sends a message once more, with all its attempts. 404 while it is under way.',
    body: body({}),
    answer: NoticeDelivery,
    errors: ['not_found'],
    example: { path: { id: 'dlv_Vb3kQ9xT2mLr7dWa' }, body: {} },
  },
} as const
