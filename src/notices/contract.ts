import { CSV_FORMATS, CSV_FORMATS_TEXT } from '../base/csv.ts'
import {
  type Static,
  anything,
  body,
  filled,
  flag,
  list,
  map,
  nullable,
  object,
  oneOf,
  optional,
  text,
  time,
  whole,
} from '../base/schema.ts'
import { CHOSEN_KINDS, NOTICE_KINDS } from '../tables/notice-table.ts'

export const CHANNEL_TYPES = ['email', 'telegram', 'webhook'] as const
const LANGUAGES = ['en', 'ru'] as const
const Kinds = list(oneOf(CHOSEN_KINDS), 'Kinds of notices that it gets.', { maxItems: 50 })

export const NoticeChannel = object(
  {
    id: text(),
    type: oneOf(CHANNEL_TYPES),
    target: text('The e-mail address, the id of the chat, or the URL.'),
    kinds: Kinds,
    language: oneOf(LANGUAGES, 'Of e-mail and Telegram.'),
    enabled: flag(),
    created_at: time(),
  },
  'A receiver of notices.',
)
export type NoticeChannel = Static<typeof NoticeChannel>

export const NoticeChannelBody = body({
  type: optional(oneOf(CHANNEL_TYPES, '`webhook` unless given.')),
  target: filled(
    'An e-mail address; the id of a chat with the bot; or a URL: https, and http only where private addresses are allowed.',
    2_000,
  ),
  kinds: Kinds,
  language: optional(oneOf(LANGUAGES, '`en` unless given.')),
})
export type NoticeChannelBody = Static<typeof NoticeChannelBody>

export const NoticeChannelPatch = body({
  kinds: optional(Kinds),
  language: optional(oneOf(LANGUAGES)),
  enabled: optional(flag()),
})

const State = oneOf(['pending', 'sent', 'dead'], '`dead`: given up after its last attempt.')

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
  state: State,
  attempts: whole(),
  due_at: nullable(time('Of the next attempt; null = there is none.')),
  error: nullable(text('Of the last attempt.')),
  created_at: time(),
  ended_at: nullable(time()),
})
export type NoticeDelivery = Static<typeof NoticeDelivery>

export const NoticeDeliveryQuery = object({
  limit: optional(whole('100 if absent.', { minimum: 1, maximum: 1_000 })),
  offset: optional(whole('0 if absent, 10,000 at most.', { minimum: 0 })),
  cursor: optional(text("Another answer's `next_cursor`: the page begins after that one's rows.")),
  state: optional(State),
  format: optional(oneOf(CSV_FORMATS, CSV_FORMATS_TEXT)),
})
export const NoticeDeliveries = object({
  data: list(NoticeDelivery),
  total: whole('How many there are in all.'),
  next_cursor: optional(text('The next page, as `cursor`; absent where the list ends.')),
})
