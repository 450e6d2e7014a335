import { isoTime } from '../base/time.ts'
import type { NoticeKind } from '../tables/notice-table.ts'
import type { Delivery } from '../store/notices/notice-rows.ts'
import type { NoticeDelivery } from './delivery-contract.ts'

/** A message as the APIs show it. */
export function wireDelivery({
  id,
  channel,
  notice,
  state,
  attempts,
  dueAtMs,
  error,
  createdAtMs,
  endedAtMs,
}: Delivery): NoticeDelivery {
  return {
    id,
    channel: channel.id,
    notice: {
      id: notice.id,
      // A newer program may have written another, which is shown as it is.
      type: notice.kind as NoticeKind,
      account: notice.accountId,
      created_at: isoTime(notice.atMs),
      data: notice.detail,
    },
    state,
    attempts,
    due_at: state === 'pending' ? isoTime(dueAtMs) : null,
    error,
    created_at: isoTime(createdAtMs),
    ended_at: isoTime(endedAtMs),
  }
}
