import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useListRead } from '../../parts/ask-ahead.ts'
import { Clip } from '../../parts/Clip.tsx'
import { DataList, PAGE_ROWS } from '../../parts/DataList.tsx'
import { fileAddress } from '../../parts/list-csv.ts'
import { placeOf } from '../../parts/list-place.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { useFormat } from '../../parts/use-format.ts'

export function AccountLedger({ accountId }: { readonly accountId: string }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const params = { id: accountId }
  const entries = useListRead('GET /admin/v1/accounts/:id/ledger', (search) => ({
    params,
    query: { limit: PAGE_ROWS, offset: placeOf(search).offset },
  }))
  return (
    <Loaded of={entries} height={260}>
      {({ data, total }) => (
        <DataList
          name="account-ledger"
          label={t('nav.ledger')}
          rows={data}
          page={{ total, deep: true }}
          file={fileAddress('GET /admin/v1/accounts/:id/ledger', { params, query: {} })}
          rowId={({ id }) => id}
          empty={{ picture: 'money', title: t('ledger.none') }}
          columns={[
            {
              id: 'at',
              title: t('log.time'),
              value: (entry) => entry.created_at,
              cell: (entry) => <Moment at={entry.created_at} />,
            },
            { id: 'kind', title: t('ledger.kind'), value: ({ kind }) => kind, cell: ({ kind }) => t(`ledger.${kind}`) },
            {
              id: 'reference',
              title: t('ledger.reference'),
              value: ({ reference }) => reference,
              cell: ({ reference }) => <Clip text={reference} mono />,
            },
            {
              id: 'reason',
              title: t('ledger.reason'),
              value: ({ reason }) => reason,
              cell: ({ reason }) => reason !== null && <Clip text={reason} />,
            },
            {
              id: 'actor',
              title: t('events.actor'),
              value: ({ actor }) => actor,
              cell: ({ actor }) => actor !== null && <Clip text={actor} />,
            },
            {
              id: 'amount',
              title: t('money.amount'),
              end: true,
              value: ({ amount }) => amount,
              cell: ({ amount }) => format.moneyInColumn(amount),
            },
            {
              id: 'balance',
              title: t('ledger.balance'),
              end: true,
              value: ({ balance }) => balance,
              cell: ({ balance }) => (balance === null ? '–' : format.moneyInColumn(balance)),
            },
          ]}
        />
      )}
    </Loaded>
  )
}
