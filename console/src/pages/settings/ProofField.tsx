import { Alert, Button, PasswordInput, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ProofBody } from '../../../../src/cabinet/identity-contract.ts'
import { CodeField } from '../../parts/CodeField.tsx'
import { useProfile, useSession } from '../../session.tsx'

/** The proof that this user gives before a way to sign in is added or removed. */
export type ProofKind = 'password' | 'code' | 'fresh' | 'stale'

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

/** One field, or an instruction where there is nothing to type. */
export function ProofField({
  kind,
  value,
  change,
  error,
}: {
  readonly kind: ProofKind
  readonly value: string
  readonly change: (value: string) => void
  readonly error: string | null
}): ReactNode {
  const { t } = useTranslation()
  const { service } = useSession()
  switch (kind) {
    case 'password':
      return (
        <PasswordInput
          label={t('security.current')}
          autoComplete="current-password"
          required
          visibilityToggleButtonProps={{ 'aria-label': t('entry.show_password') }}
          value={value}
          onChange={(event) => change(event.currentTarget.value)}
          error={error}
        />
      )
    case 'code':
      return <CodeField value={value} onChange={(event) => change(event.currentTarget.value)} error={error} />
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
