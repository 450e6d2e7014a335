import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { PaymentRow } from '../../../../src/api/admin/top-up-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { Can } from '../../parts/Can.tsx'
import { Clip } from '../../parts/Clip.tsx'
import { DataList, PAGE_ROWS } from '../../parts/DataList.tsx'
import { FilterPanel } from '../../parts/FilterPanel.tsx'
import { fileAddress } from '../../parts/list-csv.ts'
import { sortOf, useFilters, useListPlace } from '../../parts/list-place.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import { OperatorPage } from './OperatorPage.tsx'
import { AccountField } from './requests/AccountField.tsx'

const TONES = { pending: 'warn', paid: 'good', cancelled: 'quiet' } as const

/** Online payments of all accounts. */
export function PaymentsPage(): ReactNode {
  const { t } = useTranslation()
  const { sort, offset } = useListPlace()
  const { filters, filter } = useFilters<'account'>()
  const query = {
    ...(filters.account === undefined ? {} : { account: filters.account }),
    ...sortOf(['created_at'], sort),
  }
  const payments = useRead('GET /admin/v1/payments', { query: { ...query, limit: PAGE_ROWS, offset } }, { keep: true })
  return (
    <OperatorPage title={t('nav.payments')} lead={t('payments.lead')}>
      <Can call="GET /admin/v1/accounts">
        <FilterPanel compact>
          <AccountField value={filters.account ?? null} change={(account) => filter('account', account)} />
        </FilterPanel>
      </Can>
      <Loaded of={payments} height={360}>
        {({ data, total }) => (
          <Payments payments={data} total={total} file={fileAddress('GET /admin/v1/payments', { query })} />
        )}
      </Loaded>
    </OperatorPage>
  )
}

interface PaymentsProps {
  readonly payments: readonly PaymentRow[]
  readonly total: number
  readonly file: string
}

function Payments({ payments, total, file }: PaymentsProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <DataList
      name="payments"
      label={t('nav.payments')}
      rows={payments}
      page={{ total }}
      file={file}
      rowId={({ id }) => id}
      empty={{ picture: 'money', title: t('money.no_payments'), text: t('payments.none_text') }}
      columns={[
        {
          id: 'created_at',
          title: t('log.time'),
          ordered: true,
          value: (payment) => payment.created_at,
          cell: (payment) => <Moment at={payment.created_at} />,
        },
        {
          id: 'account',
          title: t('statement.account'),
          value: ({ account }) => account,
          cell: ({ account }) => (
            <Link to="/operator/accounts/$id" params={{ id: account }}>
              {account}
            </Link>
          ),
        },
        { id: 'method', title: t('money.method'), value: ({ method }) => method, cell: ({ method }) => method },
        {
          id: 'state',
          title: t('keys.state'),
          value: ({ state }) => t(`money.state_${state}`),
          cell: ({ state }) => <StatusBadge tone={TONES[state]}>{t(`money.state_${state}`)}</StatusBadge>,
        },
        {
          id: 'id',
          title: t('payments.provider_id'),
          value: (payment) => payment.payment_id ?? payment.id,
          cell: (payment) => <Clip text={payment.payment_id ?? payment.id} mono />,
        },
        {
          id: 'refunded',
          title: t('payments.refunded'),
          end: true,
          value: ({ refunded }) => refunded,
          cell: (payment) => <Refunded payment={payment} />,
        },
        {
          id: 'amount',
          title: t('money.amount'),
          end: true,
          value: ({ amount }) => amount,
          cell: ({ amount }) => format.moneyInColumn(amount),
        },
      ]}
    />
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
