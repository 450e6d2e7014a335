import { useRead } from '../../api/hooks.ts'
import { useCan } from '../../parts/Can.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { t } from '../../parts/words.ts'
import { DeliveryList } from '../notices/DeliveryList.tsx'
import { Receivers } from '../notices/Receivers.tsx'
import { OperatorPage } from './OperatorPage.tsx'

/** The operator's receivers and their kinds of notices, and all messages, those to receivers of accounts included. */
export function OperatorNoticesPage() {
  const can = useCan()
  const channels = useRead('GET /admin/v1/notices/channels', {})
  return (
    <OperatorPage title={t('nav.notices')} lead={t('notices.lead')}>
      <Loaded of={channels} height={160}>
        {({ data }) => (
          <Receivers
            place="operator"
            mayChange={can('POST /admin/v1/notices/channels')}
            receivers={data}
            empty={{ picture: 'notice', title: t('notices.none'), text: t('notices.none_text') }}
          />
        )}
      </Loaded>
      <DeliveryList
        read="GET /admin/v1/notices/deliveries"
        ofAll
        receivers={channels.data?.data ?? []}
        mayReplay={can('POST /admin/v1/notices/deliveries/:id/replay')}
      />
    </OperatorPage>
  )
}
