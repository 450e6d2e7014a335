import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import css from '../style/layout.module.css'
import { failureText, problemTexts, serverWords } from './failure-text.ts'

/** An error in the reader's language. Words of the server stand apart and are marked as English. */
export function FailureWords({ failure }: { readonly failure: unknown }): ReactNode {
  const { t } = useTranslation()
  const words = serverWords(failure)
  const { lines, more } = problemTexts(failure)
  return (
    <>
      <Text size="sm" component="span" display="block">
        {failureText(failure)}
      </Text>
      {words !== null && (
        <Text size="xs" c="dimmed" component="span" display="block">
          {t('failure.said')}:{' '}
          <code className={css.mono} lang="en">
            {words}
          </code>
        </Text>
      )}
      {lines.map(({ path, text, words: said }) => (
        <Text key={`${path} ${said}`} size="sm" component="span" display="block">
          {path !== '' && <code className={css.mono}>{path}: </code>}
          {text ?? (
            <code className={css.mono} lang="en">
              {said}
            </code>
          )}
        </Text>
      ))}
      {more > 0 && (
        <Text size="sm" component="span" display="block">
          {t('failure.problems_more', { count: more })}
        </Text>
      )}
    </>
  )
}
