import { SegmentedControl, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { Summary } from '../../../src/api/cabinet/money-contract.ts'
import { useMay, useSession } from '../session.tsx'
import { CopyBlock } from './Copy.tsx'
import { Section } from './Page.tsx'
import { type ChatCall, chatSnippet, LANGUAGE_NAMES, SNIPPET_LANGUAGES, type SnippetLanguage } from './call-snippet.ts'
import { ButtonLink } from './cells.tsx'
import { t } from './words.ts'

const PLACEHOLDER = 'sk-tg-…'

/** A chat request as code, without the key's secret, which the console does not have. */
export function CallSnippet({ body, files = [] }: Pick<ChatCall, 'body' | 'files'>) {
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

interface SnippetLanguageFieldProps {
  readonly value: SnippetLanguage
  readonly change: (value: SnippetLanguage) => void
}

function SnippetLanguageField({ value, change }: SnippetLanguageFieldProps) {
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

interface FirstRequestProps {
  readonly summary: Pick<Summary, 'example_model' | 'has_requests' | 'keys'>
  readonly apiKey?: string
}

/** The first request, ready to paste. Right after a key was created, it contains the key. */
export function FirstRequest({ summary, apiKey }: FirstRequestProps) {
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
      lead={t(
        apiKey !== undefined
          ? 'home.snippets_filled'
          : summary.has_requests
            ? 'home.snippets_lead'
            : 'home.first_request_lead',
      )}
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
