import { Alert } from '@mantine/core'
import type { ProviderTrial } from '../../../../../src/api/admin/catalog-contract.ts'
import { format, t } from '../../../parts/words.ts'

/** The result of the test in plain words: what is wrong, and what to do about it. */
export function TrialResult({ trial }: { readonly trial: ProviderTrial }) {
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
          <q className="mono" lang="en">
            {said}
          </q>
        </div>
      )}
      {!isFine && status !== null && <div className="small">HTTP {status}</div>}
    </Alert>
  )
}
