import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useRead } from '../../api/hooks.ts'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Pager } from '../../parts/Pager.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'

const PAGE_ROWS = 50

export function AccountLedger({ accountId }: { readonly accountId: string }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [offset, setOffset] = useState(0)
  const entries = useRead(
    'GET /admin/v1/accounts/:id/ledger',
    { params: { id: accountId }, query: { limit: PAGE_ROWS, offset } },
    { keep: true },
  )
  return (
    <Loaded of={entries} height={260}>
      {({ data, total }) => (
        <>
          <List
            label={t('nav.ledger')}
            rows={data}
            rowId={({ id }) => id}
            empty={{ title: t('ledger.none') }}
            columns={[
              { id: 'at', title: t('log.time'), cell: (entry) => format.dateTime(entry.created_at) },
              { id: 'kind', title: t('ledger.kind'), cell: ({ kind }) => t(`ledger.${kind}`) },
              {
                id: 'reference',
                title: t('ledger.reference'),
                cell: ({ reference }) => <span className={css.mono}>{reference}</span>,
              },
              { id: 'reason', title: t('ledger.reason'), cell: ({ reason }) => reason ?? '' },
              { id: 'actor', title: t('events.actor'), cell: ({ actor }) => actor ?? '' },
              { id: 'amount', title: t('money.amount'), end: true, cell: ({ amount }) => format.moneyInColumn(amount) },
            ]}
          />
          <Pager offset={offset} size={PAGE_ROWS} total={total} go={setOffset} />
        </>
      )}
    </Loaded>
  )
}
