import {
  Alert,
  Button,
  PasswordInput,
  type PasswordInputProps,
  Stack,
  TextInput,
  type TextInputProps,
} from '@mantine/core'
import type { ReactNode } from 'react'
import type { ProofBody } from '../../../src/base/wire-route.ts'
import { useProfile, useSession } from '../session.tsx'
import { t } from './words.ts'

/** A field for an authenticator code or a recovery code. */
export function CodeField(props: TextInputProps) {
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

/** A field in which a user chooses a password. It names the lengths that the server accepts. */
export function NewPasswordField(props: PasswordInputProps) {
  const { service } = useSession()
  return (
    <PasswordInput
      label={t('entry.password')}
      description={t('entry.password_length', service.password)}
      autoComplete="new-password"
      required
      {...props}
    />
  )
}

/** Checks the length of a new password; null = it is right. */
export function usePasswordCheck(): (password: string) => string | null {
  const { password: bounds } = useSession().service
  return ({ length }) => (length < bounds.least || length > bounds.most ? t('entry.password_length', bounds) : null)
}

/** The props that a form gives to a field. */
interface ProofInputProps {
  readonly value?: string
  readonly onChange: PasswordInputProps['onChange']
  readonly error?: ReactNode
}

/** A field for the password or an authenticator code. */
export function ProofInput({ kind, ...props }: ProofInputProps & { readonly kind: 'password' | 'code' }) {
  if (kind === 'code') return <CodeField {...props} />
  return <PasswordInput label={t('security.current')} autoComplete="current-password" required {...props} />
}

/** The proof that this user gives before a sign-in method is added or removed. */
type ProofKind = 'password' | 'code' | 'fresh' | 'stale'

/** The server's names of the form's value `proof`. */
export const PROOF_NAMES = { password: 'proof', code: 'proof', current_password: 'proof' } as const

export function useProofKind(): ProofKind {
  const { has_password: hasPassword, totp } = useProfile()
  const { session } = useSession()
  if (hasPassword) return 'password'
  if (totp.enabled) return 'code'
  return session !== null && Date.parse(session.fresh_until) > Date.now() ? 'fresh' : 'stale'
}

export function proofBody(kind: ProofKind, value: string): ProofBody {
  if (kind === 'password') return { password: value }
  return kind === 'code' ? { code: value.trim() } : {}
}

/** A field, or an instruction if there is nothing to type. */
export function ProofField({ kind, ...props }: ProofInputProps & { readonly kind: ProofKind }) {
  const { service } = useSession()
  switch (kind) {
    case 'password':
    case 'code':
      return <ProofInput kind={kind} {...props} />
    case 'fresh':
      return null
    case 'stale':
      return (
        <Alert color="yellow" title={t('security.stale')}>
          <Stack align="flex-start">
            {t('security.stale_text')}
            {service.oidc !== null && (
              <Button component="a" href={service.oidc.start} variant="default">
                {t('entry.oidc', { name: service.oidc.name })}
              </Button>
            )}
          </Stack>
        </Alert>
      )
  }
}
