import { Alert, Chip, Group, Loader, Select, Text, TextInput } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { Money, Payment, PaymentMethod } from '../../../../src/api/cabinet/money-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { fileAddress } from '../../parts/ListTools.tsx'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { MoneyMove } from '../../parts/MoneyMove.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Page, Section, Tile } from '../../parts/Page.tsx'
import { isPlainNumber } from '../../parts/number-text.ts'
import { format, t } from '../../parts/words.ts'
import { PAYMENT_TONES } from './Ledger.tsx'
import { Press } from '../../parts/cells.tsx'

const ASK_EVERY_MS = 3_000
/** How often to ask the server; it asks the payment provider less often. */
const CHECK_EVERY_MS = 10_000
const AMOUNTS = [500, 1_000, 3_000, 10_000] as const
const FIRST_AMOUNT = 1_000

/** The ways to add money: a payment provider if one is configured, a code, or the operator. */
export function TopUpPage() {
  const { payment } = useSearch({ strict: false })
  const summary = useRead('GET /cabinet/v1/summary', {})
  const payments = useRead('GET /cabinet/v1/payments', {})
  return (
    <Page title={t('nav.top_up')} lead={t('money.lead')}>
      {payment !== undefined && <PaymentReturn id={payment} />}
      <Loaded of={summary} height={90}>
        {({ money }) => (
          <div className="tiles">
            <Tile lead label={t('home.balance')} money={money.balance} />
            <Tile label={t('money.available')} money={money.available} note={t('money.available_note')} />
            <Tile label={t('money.reserved')} money={money.reserved} note={t('money.reserved_note')} />
          </div>
        )}
      </Loaded>
      <div className="halves">
        <Section boxed title={t('money.pay')} lead={t('money.pay_lead')}>
          <Loaded of={payments} height={160}>
            {({ methods: [first, ...others] }) =>
              summary.data === undefined ? null : first === undefined ? (
                <Alert color="gray">
                  <Text size="sm">{t('money.no_methods')}</Text>
                </Alert>
              ) : (
                <PayForm first={first} methods={[first, ...others]} money={summary.data.money} />
              )
            }
          </Loaded>
        </Section>
        <Section boxed title={t('money.redeem')} lead={t('money.redeem_lead')}>
          <RedeemForm />
        </Section>
      </div>
      <Loaded of={payments} height={160}>
        {({ data }) => data.length > 0 && <Payments payments={data} />}
      </Loaded>
    </Page>
  )
}

function Payments({ payments }: { readonly payments: readonly Payment[] }) {
  return (
    <Section title={t('money.payments')}>
      <DataList
        name="payments"
        begun
        file={fileAddress('GET /cabinet/v1/payments', {})}
        label={t('money.payments')}
        rows={payments}
        empty={{ picture: 'money', title: t('money.no_payments') }}
        columns={[
          { id: 'created', title: t('log.time'), as: 'moment', value: 'created_at' },
          {
            id: 'state',
            title: t('keys.state'),
            word: ({ state }) => [PAYMENT_TONES[state], t(`money.state_${state}`)],
          },
          { id: 'id', title: t('money.number'), as: 'mono', value: ({ id }) => id },
          { id: 'amount', title: t('money.amount'), as: 'money', value: ({ amount }) => amount },
          {
            id: 'pay',
            end: true,
            cell: ({ state, confirmation_url: url }) =>
              state === 'pending' && url?.startsWith('https://') === true && <a href={url}>{t('money.go_on')}</a>,
          },
        ]}
      />
    </Section>
  )
}

interface PayFormProps {
  readonly first: PaymentMethod
  readonly methods: readonly PaymentMethod[]
  readonly money: Money
}

/** A form for the amount, which leads to the page of the payment provider. */
function PayForm({ first, methods, money }: PayFormProps) {
  const form = useCall('POST /cabinet/v1/payments', {
    done: ({ confirmation_url: url, id }) => {
      // The address must be a web page, whatever the answer contains.
      if (url !== null && /^https?:\/\//.test(url)) window.location.assign(url)
      else window.location.assign(`/top-up?payment=${encodeURIComponent(id)}`)
    },
    first: { amount: String(FIRST_AMOUNT), method: first.id },
    input: ({ method, amount }) => ({ body: { method, amount: Number(amount) } }),
  })
  const { amount: typed } = form.values
  const { name, least, most } = methods.find(({ id }) => id === form.values.method) ?? first
  return (
    <Form
      of={form}
      act={
        isPlainNumber(typed)
          ? t('money.pay_amount_by', { name, amount: format.exactRubles(Number(typed)) })
          : t('money.pay_by', { name })
      }
    >
      {methods.length > 1 && (
        <Select
          label={t('money.method')}
          data={methods.map((method) => ({ value: method.id, label: method.name }))}
          {...form.field('method')}
        />
      )}
      <NumberField
        label={t('money.amount')}
        description={t('money.bounds', { least: format.exactRubles(least), most: format.exactRubles(most) })}
        unit="₽"
        decimals={2}
        least={least}
        most={most}
        required
        size="md"
        {...form.field('amount')}
      />
      <Chip.Group value={typed} onChange={(value) => form.set({ amount: String(value) })}>
        <Group gap="xs">
          {AMOUNTS.filter((amount) => amount >= least && amount <= most).map((amount) => (
            <Chip key={amount} value={String(amount)} variant="outline">
              {format.compactMoney(amount)}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      <MoneyMove
        move={{
          from: t('move.bank', { name }),
          to: t('move.own'),
          change: isPlainNumber(typed) ? Number(typed) : 0,
          balance: money.balance,
        }}
      />
    </Form>
  )
}

/** A form to redeem a top-up code. */
function RedeemForm() {
  const form = useCall('POST /cabinet/v1/codes/redeem', {
    renews: ['GET /cabinet/v1/summary', 'GET /cabinet/v1/ledger'],
    done: (_answer, reset) => reset(),
    first: { code: '' },
    input: ({ code }) => ({ body: { code: code.trim() } }),
  })
  return (
    <Form of={form} act={t('money.redeem_button')} look={{ variant: 'default' }}>
      {form.answer !== undefined && (
        <Alert color="teal" role="status">
          {t('money.redeemed', {
            amount: format.exactRubles(form.answer.amount),
            balance: format.exactRubles(form.answer.balance),
          })}
        </Alert>
      )}
      <TextInput label={t('money.code')} required autoComplete="off" spellCheck={false} {...form.field('code')} />
    </Form>
  )
}

/** The state of the payment from which the browser has returned. It is read again until it is final. */
function PaymentReturn({ id }: { readonly id: string }) {
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
  const amount = format.exactRubles(payment.data.amount)
  if (state === 'paid') return <Alert color="teal" role="status" title={t('money.paid', { amount })} />
  if (state === 'cancelled') return <Alert color="gray" role="status" title={t('money.cancelled', { amount })} />
  const ask = (): void => mutate({ params: { id } })
  return (
    <Alert color="yellow" role="status" title={t('money.pending', { amount })}>
      {t('money.pending_text')}
      <div>
        <Press mt="sm" size="xs" variant="default" loading={check.isPending} onClick={ask} text={t('money.check')} />
      </div>
    </Alert>
  )
}
