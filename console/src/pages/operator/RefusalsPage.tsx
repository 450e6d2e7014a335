import { errorNames } from '../../parts/failure-text.ts'
import { ServerList } from '../../parts/DataList.tsx'
import { refusalColumns } from '../../parts/Refusals.tsx'
import { accountAt } from '../../parts/row-link.ts'
import { t } from '../../parts/words.ts'
import { LogTabs } from '../log/Log.tsx'
import { OperatorPage } from './OperatorPage.tsx'

/** Requests of all accounts that were refused before they could cost anything. */
export function RefusalsPage() {
  const [at, ...columns] = refusalColumns('operator')
  return (
    <OperatorPage title={t('refused.title')} lead={t('refused.lead')} actions={<LogTabs of="requests" at={1} />}>
      <ServerList
        read="GET /admin/v1/refusals"
        filters={[
          { name: 'account', label: t('refused.account_id') },
          { name: 'key', label: t('refused.key_id') },
          { name: 'error_type', label: t('refused.why'), data: errorNames(), open: true },
          { name: 'request_id', label: t('refused.request') },
        ]}
        days
        name="refusals"
        label={t('refused.title')}
        empty={{ picture: 'calm', title: t('refused.none'), text: t('refused.none_text') }}
        columns={[
          ...(at === undefined ? [] : [at]),
          {
            id: 'account',
            title: t('refused.account'),
            value: 'account_name',
            to: ({ account }) => accountAt(account),
            code: ({ account }) => account,
          },
          ...columns,
        ]}
        height={480}
      />
    </OperatorPage>
  )
}
