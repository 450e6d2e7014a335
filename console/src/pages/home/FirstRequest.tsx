import { SegmentedControl, Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Summary } from '../../../../src/cabinet/summary-contract.ts'
import { CopyBlock } from '../../parts/Copy.tsx'
import { ButtonLink } from '../../parts/links.tsx'
import { Section } from '../../parts/Section.tsx'
import { useSession } from '../../session.tsx'

const LANGUAGES = ['curl', 'python', 'typescript'] as const

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
  const [language, setLanguage] = useState<SnippetLanguage>('curl')
  const text = snippet(language, {
    base: service.api_base,
    key: apiKey ?? PLACEHOLDER,
    model: summary.example_model ?? 'sandbox/chat',
  })
  return (
    <Section
      title={summary.has_requests ? t('home.snippets') : t('home.first_request')}
      lead={summary.has_requests ? t('home.snippets_lead') : t('home.first_request_lead')}
      actions={
        <SegmentedControl
          size="xs"
          value={language}
          onChange={setLanguage}
          data={LANGUAGES.map((value) => ({
            value,
            label: value === 'curl' ? 'curl' : value === 'python' ? 'Python' : 'TypeScript',
          }))}
          aria-label={t('home.snippet_language')}
        />
      }
    >
      <CopyBlock text={text} label={t('home.snippet')} />
      {apiKey === undefined && (
        <Text size="sm" mt={-30} component="div">
          <ButtonLink to="/keys" search={{ create: '1' }} size="xs" variant="light">
            {t('home.make_key')}
          </ButtonLink>
        </Text>
      )}
    </Section>
  )
}

type SnippetLanguage = (typeof LANGUAGES)[number]

interface SnippetFacts {
  /** For example `https://ai.example.com/v1`. */
  readonly base: string
  readonly key: string
  readonly model: string
}

/** A first chat request, ready to be pasted into a shell or a file. */
function snippet(language: SnippetLanguage, { base, key, model }: SnippetFacts): string {
  switch (language) {
    case 'curl':
      return [
        `curl ${base}/chat/completions \\`,
        `  -H 'Authorization: Bearer ${key}' \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '{"model":"${model}","messages":[{"role":"user","content":"Hello"}]}'`,
      ].join('\n')
    case 'python':
      return [
        'from openai import OpenAI',
        '',
        `client = OpenAI(base_url="${base}", api_key="${key}")`,
        'answer = client.chat.completions.create(',
        `    model="${model}",`,
        '    messages=[{"role": "user", "content": "Hello"}],',
        ')',
        'print(answer.choices[0].message.content)',
      ].join('\n')
    case 'typescript':
      return [
        "import OpenAI from 'openai'",
        '',
        `const client = new OpenAI({ baseURL: '${base}', apiKey: '${key}' })`,
        'const answer = await client.chat.completions.create({',
        `  model: '${model}',`,
        "  messages: [{ role: 'user', content: 'Hello' }],",
        '})',
        'console.log(answer.choices[0].message.content)',
      ].join('\n')
  }
}
