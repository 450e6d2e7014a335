import type { PaymentRow } from '../../../../src/api/admin/top-up-contract.ts'
import { Can } from '../../parts/Can.tsx'
import { ServerList } from '../../parts/DataList.tsx'
import { FilterPanel } from '../../parts/Filters.tsx'
import { Money, StatusBadge } from '../../parts/cells.tsx'
import { useFilters } from '../../parts/list-place.ts'
import { format, t } from '../../parts/words.ts'
import { PAYMENT_TONES } from '../money/Ledger.tsx'
import { useSession } from '../../session.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { AccountField } from './requests/AccountField.tsx'
import { accountAt } from '../../parts/row-link.ts'

/** Online payments of all accounts. */
export function PaymentsPage() {
  const { filters, filter } = useFilters<'account'>()
  const { set_up: ways } = useSession().service
  return (
    <OperatorPage title={t('nav.payments')} lead={t('payments.lead')}>
      <Can call="GET /admin/v1/accounts">
        <FilterPanel compact>
          <AccountField value={filters.account ?? null} change={(account) => filter('account', account)} />
        </FilterPanel>
      </Can>
      <ServerList
        read="GET /admin/v1/payments"
        query={({ account }) => ({ account })}
        filters={[{ name: 'id', label: t('accounts.id') }]}
        name="payments"
        label={t('nav.payments')}
        empty={{
          picture: 'money',
          title: t('money.no_payments'),
          text: t(ways.includes('payments') ? 'payments.none_yet' : 'payments.none_text'),
        }}
        columns={[
          { id: 'created_at', title: t('log.time'), as: 'moment', ordered: true, value: 'created_at' },
          { id: 'account', title: t('statement.account'), value: 'account', to: ({ account }) => accountAt(account) },
          { id: 'method', title: t('money.method'), value: ({ method }) => method },
          {
            id: 'state',
            title: t('keys.state'),
            word: ({ state }) => [PAYMENT_TONES[state], t(`money.state_${state}`)],
          },
          { id: 'id', title: t('payments.provider_id'), as: 'mono', value: ({ id, payment_id: own }) => own ?? id },
          {
            id: 'refunded',
            title: t('payments.refunded'),
            end: true,
            value: 'refunded',
            cell: (payment) => <Refunded payment={payment} />,
          },
          { id: 'amount', title: t('money.amount'), as: 'money', value: ({ amount }) => amount },
        ]}
      />
    </OperatorPage>
  )
}

/** A refund in which part of the money could not be taken back, because the account had already spent it. */
function Refunded({ payment: { refunded, refund_missing: missing } }: { readonly payment: PaymentRow }) {
  if (refunded === 0) return ''
  return (
    <>
      <Money of={refunded} />{' '}
      {missing > 0 && <StatusBadge tone="bad">{t('payments.missing', { amount: format.money(missing) })}</StatusBadge>}
    </>
  )
}
