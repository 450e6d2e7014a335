import { Alert, Button, Loader } from '@mantine/core'
import { useEffect, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useAct, useRead } from '../../api/hooks.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { useFormat } from '../../parts/use-format.ts'

const ASK_EVERY_MS = 3_000
/** The payment provider itself is asked less often. */
const CHECK_EVERY_MS = 10_000

/** The state of the payment from which the browser has returned. It asks again until the state is final. */
export function PaymentReturn({ id }: { readonly id: string }): ReactNode {
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
