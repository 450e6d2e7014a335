import { isoTime } from '../base/time.ts'
import { wire } from '../base/wire.ts'
import type { NoticeKind } from '../tables/notice-table.ts'
import type { Delivery } from '../store/notices/notice-rows.ts'
import { NoticeDelivery } from './delivery-contract.ts'

/** A message as the APIs show it. */
export function wireDelivery(delivery: Delivery): NoticeDelivery {
  const { channel, notice, state, dueAtMs } = delivery
  return wire(NoticeDelivery, delivery, {
    channel: channel.id,
    notice: {
      id: notice.id,
      // A newer program may have written another, which is shown as it is.
      type: notice.kind as NoticeKind,
      account: notice.accountId,
      created_at: isoTime(notice.atMs),
      data: notice.detail,
    },
    due_at: state === 'pending' ? isoTime(dueAtMs) : null,
  })
}
