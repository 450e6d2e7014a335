import { useRead } from '../../api/hooks.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { t } from '../../parts/words.ts'
import { useMay } from '../../session.tsx'
import { DeliveryList } from './DeliveryList.tsx'
import { Receivers, ThresholdForm } from './Receivers.tsx'

/** The receivers of the account's notices, the balance below which they get one, and the messages that were sent. */
export function NoticesPage() {
  const rules = useMay()('money:write')
  const notices = useRead('GET /cabinet/v1/notices', {})
  return (
    <Page title={t('nav.notices')} lead={t('notices.own_lead')}>
      <Loaded of={notices} height={380}>
        {(answer) => (
          <>
            <Receivers
              place="own"
              mayChange={rules}
              receivers={answer.channels}
              empty={{ picture: 'notice', title: t('notices.none'), text: t('notices.own_none_text') }}
              types={answer.types}
            />
            {rules && <ThresholdForm notices={answer} />}
          </>
        )}
      </Loaded>
      <DeliveryList
        read="GET /cabinet/v1/notices/deliveries"
        receivers={notices.data?.channels ?? []}
        mayReplay={rules}
      />
    </Page>
  )
}
