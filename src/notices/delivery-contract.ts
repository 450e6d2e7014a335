import { NOTICE_KINDS } from '../tables/notice-table.ts'
import {
  anything,
  list,
  map,
  nullable,
  object,
  oneOf,
  optional,
  text,
  time,
  whole,
  type Static,
} from '../base/schema.ts'

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
  format: optional(oneOf(['csv'], 'A file of all that is filtered, in place of a page.')),
})
export const NoticeDeliveries = object({
  data: list(NoticeDelivery),
  total: whole('How many there are in all.'),
  next_cursor: optional(text('The next page, as `cursor`; absent where the list ends.')),
})
