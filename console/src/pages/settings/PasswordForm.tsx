import { Button, PasswordInput, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { SessionState } from '../../../../src/cabinet/contract.ts'
import { queryKey, useAct } from '../../api/hooks.ts'
import { fieldFailure } from '../../parts/failure-text.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { useProfile, useSession } from '../../session.tsx'

/** A new password; every other session ends with it. */
export function PasswordForm(): ReactNode {
  const { t } = useTranslation()
  const { service } = useSession()
  const { has_password: hasPassword, email } = useProfile()
  const { least, most } = service.password
  const client = useQueryClient()
  const form = useForm({
    initialValues: { current: '', next: '' },
    validate: { next: (value) => (value.length < least || value.length > most ? t('entry.password_length', { least, most }) : null) },
  })
  const change = useAct('POST /cabinet/v1/password', {
    quiet: true,
    said: t('security.password_changed'),
    renews: ['GET /cabinet/v1/sessions'],
    done: (profile) => {
      form.reset()
      client.setQueryData<SessionState>(queryKey('GET /cabinet/v1/session'), (state) => (state === undefined ? state : { ...state, profile }))
    },
  })
  const problem = fieldFailure(change.error)
  const show = { 'aria-label': t('entry.show_password') }
  return (
    <form onSubmit={form.onSubmit(({ current, next }) => change.mutate({ body: { new_password: next, ...(hasPassword ? { current_password: current } : {}) } }))}>
      <Stack>
        {change.isError && problem === null && <Failed failure={change.error} />}
        <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
        {hasPassword && <PasswordInput label={t('security.current')} autoComplete="current-password" required visibilityToggleButtonProps={show} {...form.getInputProps('current')} error={problem?.field === 'current_password' ? problem.message : form.errors['current']} />}
        <PasswordInput label={t('security.next')} description={t('entry.password_length', { least, most })} autoComplete="new-password" required visibilityToggleButtonProps={show} {...form.getInputProps('next')} error={problem?.field === 'new_password' ? problem.message : form.errors['next']} />
        <div><Button type="submit" loading={change.isPending}>{t('security.change_password')}</Button></div>
      </Stack>
    </form>
  )
}
