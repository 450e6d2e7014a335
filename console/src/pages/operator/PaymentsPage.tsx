import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { PaymentRow } from '../../../../src/admin/top-up-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Pager } from '../../parts/Pager.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'

const PAGE_ROWS = 50
const TONES = { pending: 'warn', paid: 'good', cancelled: 'quiet' } as const

/** Online payments of all accounts. */
export function PaymentsPage(): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [offset, setOffset] = useState(0)
  const payments = useRead('GET /admin/v1/payments', { query: { limit: PAGE_ROWS, offset } }, { keep: true })
  return (
    <OperatorPage title={t('nav.payments')} lead={t('payments.lead')}>
      <Loaded of={payments} height={360}>
        {({ data, total }) => (
          <>
            <List
              label={t('nav.payments')}
              rows={data}
              rowId={({ id }) => id}
              empty={{ title: t('money.no_payments'), text: t('payments.none_text') }}
              columns={[
                { id: 'created', title: t('log.time'), cell: (payment) => format.dateTime(payment.created_at) },
                {
                  id: 'account',
                  title: t('statement.account'),
                  cell: ({ account }) => (
                    <Link to="/operator/accounts/$id" params={{ id: account }}>
                      {account}
                    </Link>
                  ),
                },
                { id: 'method', title: t('money.method'), cell: ({ method }) => method },
                {
                  id: 'state',
                  title: t('keys.state'),
                  cell: ({ state }) => <StatusBadge tone={TONES[state]}>{t(`money.state_${state}`)}</StatusBadge>,
                },
                {
                  id: 'id',
                  title: t('payments.provider_id'),
                  cell: (payment) => <span className={css.mono}>{payment.payment_id ?? payment.id}</span>,
                },
                {
                  id: 'refunded',
                  title: t('payments.refunded'),
                  end: true,
                  cell: (payment) => <Refunded payment={payment} />,
                },
                {
                  id: 'amount',
                  title: t('money.amount'),
                  end: true,
                  cell: ({ amount }) => format.moneyInColumn(amount),
                },
              ]}
            />
            <Pager offset={offset} size={PAGE_ROWS} total={total} go={setOffset} />
          </>
        )}
      </Loaded>
    </OperatorPage>
  )
}

/** Money that the account had already spent could not be taken back. */
function Refunded({ payment: { refunded, refund_missing: missing } }: { readonly payment: PaymentRow }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  if (refunded === 0) return ''
  return (
    <>
      {format.money(refunded)}{' '}
      {missing > 0 && <StatusBadge tone="bad">{t('payments.missing', { amount: format.money(missing) })}</StatusBadge>}
    </>
  )
}
