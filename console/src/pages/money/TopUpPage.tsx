import { Alert, Text } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Payment } from '../../../../src/cabinet/money-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { Section } from '../../parts/Section.tsx'
import { StatusBadge, type Tone } from '../../parts/StatusBadge.tsx'
import { Tile } from '../../parts/Tile.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { PaymentReturn } from './PaymentReturn.tsx'
import { PayForm } from './PayForm.tsx'
import { RedeemForm } from './RedeemForm.tsx'

const TONES: Readonly<Record<Payment['state'], Tone>> = { pending: 'warn', paid: 'good', cancelled: 'quiet' }

/** The ways to add money: a payment provider where one is set up, a code, or the operator. */
export function TopUpPage(): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const { payment } = useSearch({ strict: false })
  const summary = useRead('GET /cabinet/v1/summary', {})
  const payments = useRead('GET /cabinet/v1/payments', {})
  return (
    <Page title={t('nav.top_up')} lead={t('money.lead')}>
      {payment !== undefined && <PaymentReturn id={payment} />}
      <Loaded of={summary} height={90}>
        {({ money }) => (
          <div className={css.tiles}>
            <Tile label={t('home.balance')} value={format.money(money.balance)} />
            <Tile label={t('money.available')} value={format.money(money.available)} note={t('money.available_note')} />
            <Tile label={t('money.reserved')} value={format.money(money.reserved)} note={t('money.reserved_note')} />
          </div>
        )}
      </Loaded>
      <div className={css.halves}>
        <Section title={t('money.pay')} lead={t('money.pay_lead')}>
          <Loaded of={payments} height={160}>
            {({ methods }) =>
              methods.length === 0 ? (
                <Alert color="gray">
                  <Text size="sm">{t('money.no_methods')}</Text>
                </Alert>
              ) : (
                <PayForm methods={methods} />
              )
            }
          </Loaded>
        </Section>
        <Section title={t('money.redeem')} lead={t('money.redeem_lead')}>
          <RedeemForm />
        </Section>
      </div>
      <Loaded of={payments} height={160}>
        {({ data }) =>
          data.length === 0 ? null : (
            <Section title={t('money.payments')}>
              <Payments payments={data} />
            </Section>
          )
        }
      </Loaded>
    </Page>
  )
}

function Payments({ payments }: { readonly payments: readonly Payment[] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <List
      label={t('money.payments')}
      rows={payments}
      rowId={({ id }) => id}
      empty={{ title: t('money.no_payments') }}
      columns={[
        { id: 'created', title: t('log.time'), cell: (payment) => format.dateTime(payment.created_at) },
        {
          id: 'state',
          title: t('keys.state'),
          cell: ({ state }) => <StatusBadge tone={TONES[state]}>{t(`money.state_${state}`)}</StatusBadge>,
        },
        { id: 'id', title: t('money.number'), cell: ({ id }) => <span className={css.mono}>{id}</span> },
        { id: 'amount', title: t('money.amount'), end: true, cell: ({ amount }) => format.money(amount) },
        {
          id: 'pay',
          title: '',
          end: true,
          cell: ({ state, confirmation_url: url }) =>
            state === 'pending' && url !== null && url.startsWith('https://') ? (
              <a href={url}>{t('money.go_on')}</a>
            ) : (
              ''
            ),
        },
      ]}
    />
  )
}
