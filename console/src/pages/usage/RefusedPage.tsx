import { errorNames } from '../../parts/failure-text.ts'
import { ServerList } from '../../parts/DataList.tsx'
import { Page } from '../../parts/Page.tsx'
import { refusalColumns } from '../../parts/Refusals.tsx'
import { t } from '../../parts/words.ts'
import { LogTabs } from '../log/Log.tsx'

/** Requests of the account that were refused before they could cost anything. */
export function RefusedPage() {
  return (
    <Page title={t('refused.title')} lead={t('refused.lead')} actions={<LogTabs of="log" at={1} />}>
      <ServerList
        read="GET /cabinet/v1/refusals"
        filters={[
          { name: 'error_type', label: t('refused.why'), data: errorNames(), open: true },
          { name: 'request_id', label: t('refused.request') },
        ]}
        days
        name="refused"
        label={t('refused.title')}
        empty={{ picture: 'calm', title: t('refused.none'), text: t('refused.none_text') }}
        columns={refusalColumns('customer')}
        height={420}
      />
    </Page>
  )
}
