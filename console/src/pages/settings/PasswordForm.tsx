import { Button, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { SessionState } from '../../../../src/api/cabinet/session-contract.ts'
import { queryKey, useAct } from '../../api/hooks.ts'
import { fieldFailure } from '../../parts/failure-text.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { NewPasswordField, usePasswordCheck } from '../../parts/NewPasswordField.tsx'
import { useProfile } from '../../session.tsx'
import { proofBody, ProofField, useProofKind } from './ProofField.tsx'

/** A form for a new password. A change ends all other sessions. */
export function PasswordForm(): ReactNode {
  const { t } = useTranslation()
  const { email } = useProfile()
  const kind = useProofKind()
  const client = useQueryClient()
  const form = useForm({
    initialValues: { current: '', next: '' },
    validate: { next: usePasswordCheck() },
  })
  const change = useAct('POST /cabinet/v1/password', {
    quiet: true,
    said: t('security.password_changed'),
    renews: ['GET /cabinet/v1/sessions'],
    done: (profile) => {
      form.reset()
      client.setQueryData<SessionState>(queryKey('GET /cabinet/v1/session'), (state) =>
        state === undefined ? state : { ...state, profile },
      )
    },
  })
  const problem = fieldFailure(change.error, ['current_password', 'code', 'new_password'])
  return (
    <form
      onSubmit={form.onSubmit(({ current, next }) =>
        change.mutate({
          body: {
            new_password: next,
            ...(kind === 'password' ? { current_password: current } : proofBody(kind, current)),
          },
        }),
      )}
    >
      <Stack>
        {change.isError && problem === null && <Failed failure={change.error} />}
        <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
        <ProofField
          kind={kind}
          value={form.values.current}
          change={(value) => form.setFieldValue('current', value)}
          error={problem !== null && problem.field !== 'new_password' ? problem.message : null}
        />
        <NewPasswordField
          label={t('security.next')}
          {...form.getInputProps('next')}
          error={problem?.field === 'new_password' ? problem.message : form.errors['next']}
        />
        <div>
          <Button type="submit" loading={change.isPending} disabled={kind === 'stale'}>
            {t('security.change_password')}
          </Button>
        </div>
      </Stack>
    </form>
  )
}
