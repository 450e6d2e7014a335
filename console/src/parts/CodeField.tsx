import { TextInput, type TextInputProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'

/** A field for a code of the authenticator, or a recovery code. */
export function CodeField(props: TextInputProps): ReactNode {
  const { t } = useTranslation()
  return (
    <TextInput
      label={t('entry.code')}
      description={t('entry.code_hint')}
      autoComplete="one-time-code"
      required
      {...props}
    />
  )
}
