import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { GenerationStory } from '../../../../../src/api/admin/report-contract.ts'
import { attemptText } from '../../../parts/attempt-text.ts'
import { StatusBadge } from '../../../parts/StatusBadge.tsx'
import css from './drawer.module.css'

/** The providers that were asked, in order, with what each of them said. */
export function Route({ tries }: { readonly tries: GenerationStory['tries'] }): ReactNode {
  const { t } = useTranslation()
  if (tries.length === 0) return <Text c="dimmed">{t('request.no_attempts')}</Text>
  const numbered = tries.map((attempt, index) => ({ ...attempt, number: index + 1 }))
  return (
    <ol className={css.route}>
      {numbered.map((attempt) => (
        <li key={attempt.number} data-outcome={attempt.outcome}>
          <span className={css.number}>{attempt.number}</span>
          <div>
            <span className={css.provider}>{attempt.provider ?? '–'}</span>{' '}
            <StatusBadge tone={attempt.outcome === 'answered' ? 'good' : 'bad'}>
              {t(`request.${attempt.outcome}`)}
            </StatusBadge>{' '}
            <span className={css.why}>{attemptText(attempt)}</span>
            {attempt.said !== null && (
              <blockquote className={css.said} lang="en" aria-label={t('failure.said')}>
                {attempt.said}
              </blockquote>
            )}
          </div>
        </li>
      ))}
    </ol>
  )
}
