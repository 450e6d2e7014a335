import { PasswordInput, type PasswordInputProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useSession } from '../session.tsx'

/** A field in which a user chooses a password. It names the lengths that the server accepts. */
export function NewPasswordField(props: PasswordInputProps): ReactNode {
  const { t } = useTranslation()
  const { service } = useSession()
  return (
    <PasswordInput
      description={t('entry.password_length', service.password)}
      autoComplete="new-password"
      required
      visibilityToggleButtonProps={{ 'aria-label': t('entry.show_password') }}
      {...props}
    />
  )
}

/** Says what is wrong with the length of a new password; null = nothing. */
export function usePasswordCheck(): (password: string) => string | null {
  const { t } = useTranslation()
  const { password: bounds } = useSession().service
  return ({ length }) => (length < bounds.least || length > bounds.most ? t('entry.password_length', bounds) : null)
}
