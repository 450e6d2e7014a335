import { Button, Chip, Group, Select, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { PaymentMethod } from '../../../../src/api/cabinet/money-contract.ts'
import { useAct } from '../../api/hooks.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { isPlainNumber } from '../../parts/number-text.ts'
import { useFormat } from '../../parts/use-format.ts'

const AMOUNTS = [500, 1_000, 3_000, 10_000] as const
const FIRST_AMOUNT = 1_000

/** A form for the amount. It leads to the page of the payment provider. */
export function PayForm({ methods }: { readonly methods: readonly PaymentMethod[] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const pay = useAct('POST /cabinet/v1/payments', {
    quiet: true,
    done: ({ confirmation_url: url, id }) => {
      // The address must be a web page, whatever the answer says.
      if (url !== null && /^https?:\/\//.test(url)) window.location.assign(url)
      else window.location.assign(`/top-up?payment=${encodeURIComponent(id)}`)
    },
  })
  const form = useForm<{ amount: string; method: string }>({
    initialValues: { amount: String(FIRST_AMOUNT), method: methods[0]?.id ?? '' },
  })
  const method = methods.find(({ id }) => id === form.values.method) ?? methods[0]
  if (method === undefined) return null
  const { least, most } = method
  return (
    <form onSubmit={form.onSubmit(({ amount }) => pay.mutate({ body: { method: method.id, amount: Number(amount) } }))}>
      <Stack>
        {pay.isError && <Failed failure={pay.error} />}
        {methods.length > 1 && (
          <Select
            label={t('money.method')}
            allowDeselect={false}
            data={methods.map(({ id, name }) => ({ value: id, label: name }))}
            {...form.getInputProps('method')}
          />
        )}
        <NumberField
          label={t('money.amount')}
          description={t('money.bounds', { least: format.money(least), most: format.money(most) })}
          unit="₽"
          decimals={2}
          least={least}
          most={most}
          required
          size="md"
          {...form.getInputProps('amount')}
        />
        <Chip.Group value={form.values.amount} onChange={(value) => form.setFieldValue('amount', String(value))}>
          <Group gap="xs">
            {AMOUNTS.filter((amount) => amount >= least && amount <= most).map((amount) => (
              <Chip key={amount} value={String(amount)} variant="outline">
                {format.compactMoney(amount)}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
        <Button type="submit" loading={pay.isPending}>
          {isPlainNumber(form.values.amount)
            ? t('money.pay_amount_by', { name: method.name, amount: format.money(Number(form.values.amount)) })
            : t('money.pay_by', { name: method.name })}
        </Button>
      </Stack>
    </form>
  )
}
