import { CHOSEN_KINDS } from '../tables/notice-table.ts'
import { body, filled, flag, list, object, oneOf, optional, text, time, type Static } from '../base/schema.ts'

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
