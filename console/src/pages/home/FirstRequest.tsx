import { Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Summary } from '../../../../src/api/cabinet/summary-contract.ts'
import { chatSnippet, type SnippetLanguage } from '../../parts/call-snippet.ts'
import { CopyBlock } from '../../parts/Copy.tsx'
import { ButtonLink } from '../../parts/links.tsx'
import { useMay } from '../../parts/may.ts'
import { Section } from '../../parts/Section.tsx'
import { SnippetLanguageField } from '../../parts/SnippetLanguageField.tsx'
import { useSession } from '../../session.tsx'

const PLACEHOLDER = 'sk-tg-…'

/** The first request, ready to paste. Right after a key was created, the request contains it. */
export function FirstRequest({
  summary,
  apiKey,
}: {
  readonly summary: Pick<Summary, 'example_model' | 'has_requests' | 'keys'>
  readonly apiKey?: string
}): ReactNode {
  const { t } = useTranslation()
  const { service } = useSession()
  const may = useMay()
  const [language, setLanguage] = useState<SnippetLanguage>('curl')
  const text = chatSnippet(language, {
    base: service.api_base,
    key: apiKey ?? PLACEHOLDER,
    body: { model: summary.example_model ?? 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }] },
  })
  return (
    <Section
      title={summary.has_requests ? t('home.snippets') : t('home.first_request')}
      lead={summary.has_requests ? t('home.snippets_lead') : t('home.first_request_lead')}
      actions={<SnippetLanguageField value={language} change={setLanguage} />}
    >
      <CopyBlock text={text} label={t('home.snippet')} />
      {apiKey === undefined && may('keys:write') && (
        <Text size="sm" mt={-30} component="div">
          <ButtonLink to="/keys" search={{ create: '1' }} size="xs" variant="light">
            {t('home.make_key')}
          </ButtonLink>
        </Text>
      )}
    </Section>
  )
}
