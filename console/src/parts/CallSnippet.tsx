import { Stack } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useSession } from '../session.tsx'
import { chatSnippet, type ChatCall, type SnippetLanguage } from './call-snippet.ts'
import { CopyBlock } from './Copy.tsx'
import { SnippetLanguageField } from './SnippetLanguageField.tsx'

const PLACEHOLDER = 'sk-tg-…'

/** A chat request as a program, without the key's secret, which the console does not have. */
export function CallSnippet({ body, files = [] }: Pick<ChatCall, 'body' | 'files'>): ReactNode {
  const { t } = useTranslation()
  const { service } = useSession()
  const [language, setLanguage] = useState<SnippetLanguage>('curl')
  return (
    <Stack gap="sm" align="stretch">
      <SnippetLanguageField value={language} change={setLanguage} />
      <CopyBlock
        text={chatSnippet(language, { base: service.api_base, key: PLACEHOLDER, body, files })}
        label={t('home.snippet')}
      />
    </Stack>
  )
}
