import type { ReactNode } from 'react'
import { CHOSEN_KINDS } from '../../../../../src/tables/notice-table.ts'
import { useRead } from '../../../api/hooks.ts'
import { useCan } from '../../../parts/Can.tsx'
import { Loaded } from '../../../parts/Loaded.tsx'
import { useWords } from '../../../parts/words.ts'
import { DeliveryList } from '../../notices/DeliveryList.tsx'
import { Receivers, useReceiverWishes } from '../../notices/Receivers.tsx'
import { OperatorPage } from '../OperatorPage.tsx'

const READ = 'GET /admin/v1/notices/channels'
const MESSAGES = 'GET /admin/v1/notices/deliveries'

/** Who of the operator's people is told of what, and what was sent to them and to those of accounts. */
export function NoticesPage(): ReactNode {
  const { t } = useWords()
  const can = useCan()
  const channels = useRead(READ, {})
  const wishes = useReceiverWishes('/admin/v1/notices/channels', [READ, MESSAGES])
  return (
    <OperatorPage title={t('nav.notices')} lead={t('notices.lead')}>
      <Loaded of={channels} height={160}>
        {({ data }) => (
          <Receivers
            receivers={data}
            empty={{ picture: 'notice', title: t('notices.none'), text: t('notices.none_text') }}
            choice={{
              types: ['email', 'telegram', 'webhook'],
              kinds: CHOSEN_KINDS,
              hint: (type) => t(`notices.${type}_hint`),
            }}
            wishes={can('POST /admin/v1/notices/channels') ? wishes : null}
          />
        )}
      </Loaded>
      <DeliveryList
        read={MESSAGES}
        ofAll
        receivers={channels.data?.data ?? []}
        mayReplay={can('POST /admin/v1/notices/deliveries/:id/replay')}
      />
    </OperatorPage>
  )
}
