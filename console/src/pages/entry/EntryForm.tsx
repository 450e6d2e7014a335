import { Stack, TextInput, type TextInputProps, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { Form, type FormProps } from '../../parts/Form.tsx'
import { t } from '../../parts/words.ts'
import { useTitle } from '../../session.tsx'

interface EntryPageProps {
  readonly title: string
  readonly tab?: string
  readonly children: ReactNode
}

/** A page before sign-in: its title, which is also the title of the browser's tab, and its content. */
export function EntryPage({ title, tab = title, children }: EntryPageProps) {
  useTitle(tab)
  return (
    <Stack>
      <Title order={1} size="h2">
        {title}
      </Title>
      {children}
    </Stack>
  )
}

/** A form whose button is as wide as its fields. */
export function EntryForm(props: FormProps) {
  return <Form {...props} look={{ fullWidth: true, size: 'md' }} />
}

export function EmailField(props: TextInputProps) {
  return <TextInput label={t('entry.email')} type="email" autoComplete="username" required {...props} />
}

/** The name of a person, which is optional. */
export function NameField(props: TextInputProps) {
  return <TextInput label={t('entry.name')} autoComplete="name" {...props} />
}
