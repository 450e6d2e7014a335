import { Alert, Button, Loader, Stack, Text, TextInput } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useForm } from '@mantine/form'
import type { Payment } from '../../../../src/api/cabinet/money-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Clip } from '../../parts/Clip.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { fileAddress } from '../../parts/list-csv.ts'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { Page } from '../../parts/Page.tsx'
import { Section } from '../../parts/Section.tsx'
import { StatusBadge, type Tone } from '../../parts/StatusBadge.tsx'
import { Tile } from '../../parts/Tile.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { PayForm } from './PayForm.tsx'

const ASK_EVERY_MS = 3_000
/** The payment provider itself is asked less often. */
const CHECK_EVERY_MS = 10_000

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
            <Tile lead label={t('home.balance')} value={format.money(money.balance)} />
            <Tile label={t('money.available')} value={format.money(money.available)} note={t('money.available_note')} />
            <Tile label={t('money.reserved')} value={format.money(money.reserved)} note={t('money.reserved_note')} />
          </div>
        )}
      </Loaded>
      <div className={css.halves}>
        <Section boxed title={t('money.pay')} lead={t('money.pay_lead')}>
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
        <Section boxed title={t('money.redeem')} lead={t('money.redeem_lead')}>
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
    <DataList
      name="payments"
      begun
      file={fileAddress('GET /cabinet/v1/payments', {})}
      label={t('money.payments')}
      rows={payments}
      rowId={({ id }) => id}
      empty={{ picture: 'money', title: t('money.no_payments') }}
      columns={[
        {
          id: 'created',
          title: t('log.time'),
          value: (payment) => payment.created_at,
          cell: (payment) => <Moment at={payment.created_at} />,
        },
        {
          id: 'state',
          title: t('keys.state'),
          value: ({ state }) => t(`money.state_${state}`),
          cell: ({ state }) => <StatusBadge tone={TONES[state]}>{t(`money.state_${state}`)}</StatusBadge>,
        },
        { id: 'id', title: t('money.number'), value: ({ id }) => id, cell: ({ id }) => <Clip text={id} mono /> },
        {
          id: 'amount',
          title: t('money.amount'),
          end: true,
          value: ({ amount }) => amount,
          cell: ({ amount }) => format.moneyInColumn(amount),
        },
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

/** A form to redeem a top-up code. */
function RedeemForm(): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const form = useForm({ initialValues: { code: '' } })
  const redeem = useAct('POST /cabinet/v1/codes/redeem', {
    quiet: true,
    renews: ['GET /cabinet/v1/summary', 'GET /cabinet/v1/ledger'],
    done: () => form.reset(),
  })
  return (
    <form onSubmit={form.onSubmit(({ code }) => redeem.mutate({ body: { code: code.trim() } }))}>
      <Stack>
        {redeem.isError && <Failed failure={redeem.error} />}
        {redeem.isSuccess && (
          <Alert color="teal" role="status">
            {t('money.redeemed', {
              amount: format.money(redeem.data.amount),
              balance: format.money(redeem.data.balance),
            })}
          </Alert>
        )}
        <TextInput
          label={t('money.code')}
          required
          autoComplete="off"
          spellCheck={false}
          {...form.getInputProps('code')}
        />
        <Button type="submit" variant="default" loading={redeem.isPending}>
          {t('money.redeem_button')}
        </Button>
      </Stack>
    </form>
  )
}

/** The state of the payment from which the browser has returned. It asks again until the state is final. */
function PaymentReturn({ id }: { readonly id: string }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const payment = useRead('GET /cabinet/v1/payments/:id', { params: { id } }, { everyMs: ASK_EVERY_MS })
  const check = useAct('POST /cabinet/v1/payments/:id/check', {
    quiet: true,
    renews: ['GET /cabinet/v1/payments/:id', 'GET /cabinet/v1/payments', 'GET /cabinet/v1/summary'],
  })
  const { mutate } = check
  const state = payment.data?.state
  useEffect(() => {
    if (state !== 'pending') return undefined
    mutate({ params: { id } })
    const timer = setInterval(() => mutate({ params: { id } }), CHECK_EVERY_MS)
    return () => clearInterval(timer)
  }, [state, id, mutate])
  if (payment.isError) return <Failed failure={payment.error} />
  if (payment.data === undefined || state === undefined) return <Loader size="sm" aria-label={t('common.loading')} />
  const amount = format.money(payment.data.amount)
  if (state === 'paid') return <Alert color="teal" role="status" title={t('money.paid', { amount })} />
  if (state === 'cancelled') return <Alert color="gray" role="status" title={t('money.cancelled', { amount })} />
  return (
    <Alert color="yellow" role="status" title={t('money.pending', { amount })}>
      {t('money.pending_text')}
      <div>
        <Button
          mt="sm"
          size="xs"
          variant="default"
          loading={check.isPending}
          onClick={() => mutate({ params: { id } })}
        >
          {t('money.check')}
        </Button>
      </div>
    </Alert>
  )
}
