import { Alert } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { OperatorWarning } from '../../../../src/admin/warning-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'

const EVERY_MS = 60_000

/** Faults of the service itself; a warning disappears when its fault is fixed. */
export function Warnings(): ReactNode {
  // The page is useful without the warnings, and it shows its own failures.
  const warnings = useRead('GET /admin/v1/warnings', {}, { everyMs: EVERY_MS })
  return warnings.data?.data.map((warning) => <Warning key={warning.kind} warning={warning} />)
}

function Warning({ warning }: { readonly warning: OperatorWarning }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const since = format.dateTime(warning.since)
  switch (warning.kind) {
    case 'rates_failed':
      return (
        <Alert color="yellow" role="status" title={t('warnings.rates_failed')}>
          {t('warnings.rates_failed_text', { since })} {t('failure.said')}:{' '}
          <code className={css.mono} lang="en">
            {warning.reason}
          </code>
        </Alert>
      )
    case 'rates_refused':
      return (
        <Alert color="yellow" role="status" title={t('warnings.rates_refused')}>
          {t('warnings.rates_refused_text', { since })}
          <ul className={css.bullets}>
            {warning.rates.map(({ currency, rate, held }) => (
              <li key={currency}>{t('warnings.rates_refused_rate', { currency, rate, held })}</li>
            ))}
          </ul>
        </Alert>
      )
  }
}
