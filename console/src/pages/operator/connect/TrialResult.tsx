import { Alert } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ProviderTrial } from '../../../../../src/api/admin/catalog-contract.ts'
import { useFormat } from '../../../parts/use-format.ts'
import css from '../../../style/layout.module.css'

/** What came of the trial, in plain words: what is wrong, and what to do about it. */
export function TrialResult({ trial }: { readonly trial: ProviderTrial }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const { outcome, status, said, elapsed_ms: elapsed, models } = trial
  const isFine = outcome === 'listed'
  return (
    <Alert
      role={isFine ? 'status' : 'alert'}
      color={isFine ? 'sea' : outcome === 'no_list' ? 'gray' : 'red'}
      title={t(`trial.${outcome}`)}
    >
      {isFine
        ? t('trial.listed_text', {
            count: models.filter(({ listed }) => listed).length,
            time: format.duration(elapsed),
          })
        : t(`trial.${outcome}_text`)}
      {said !== null && (
        <div>
          {t('failure.said')}:{' '}
          <q className={css.mono} lang="en">
            {said}
          </q>
        </div>
      )}
      {!isFine && status !== null && <div className={css.small}>HTTP {status}</div>}
    </Alert>
  )
}
