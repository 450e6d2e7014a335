import { SegmentedControl } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { LANGUAGE_NAMES, SNIPPET_LANGUAGES, type SnippetLanguage } from './call-snippet.ts'

export interface SnippetLanguageFieldProps {
  readonly value: SnippetLanguage
  readonly change: (value: SnippetLanguage) => void
}

export function SnippetLanguageField({ value, change }: SnippetLanguageFieldProps): ReactNode {
  const { t } = useTranslation()
  return (
    <SegmentedControl
      size="xs"
      value={value}
      onChange={change}
      data={SNIPPET_LANGUAGES.map((language) => ({ value: language, label: LANGUAGE_NAMES[language] }))}
      aria-label={t('home.snippet_language')}
    />
  )
}
