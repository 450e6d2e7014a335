import { Alert, Button, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useAct } from '../../api/hooks.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { useFormat } from '../../parts/use-format.ts'

/** A form to redeem a top-up code. */
export function RedeemForm(): ReactNode {
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
