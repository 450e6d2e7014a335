import { Alert, Button, Divider, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { useEffect, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { SignInAnswer } from '../../../../src/api/cabinet/session-contract.ts'
import { startSession, useAct } from '../../api/hooks.ts'
import { CodeField } from '../../parts/CodeField.tsx'
import { Failed } from '../../parts/Loaded.tsx'
import { useSession } from '../../session.tsx'

/** E-mail and password, then a code where the user has two-step sign-in; or single sign-on. */
export function SignInPage(): ReactNode {
  const { t } = useTranslation()
  const { hash } = useLocation()
  const { service } = useSession()
  const client = useQueryClient()
  const fragment = new URLSearchParams(hash)
  const [ticket, setTicket] = useState(fragment.get('ticket'))
  useEffect(() => {
    document.title = `${t('entry.sign_in_title')} · Tollgate`
  }, [t])
  const arrived = (answer: SignInAnswer): void => {
    if (answer.status === 'code_required') return setTicket(answer.ticket)
    const { status: _, ...state } = answer
    startSession(client, state)
  }
  if (ticket !== null) return <CodeForm ticket={ticket} arrived={arrived} back={() => setTicket(null)} />
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('entry.sign_in_title')}
      </Title>
      {service.needs_setup && (
        <Alert color="yellow" title={t('entry.needs_setup')}>
          {t('entry.needs_setup_text')}
        </Alert>
      )}
      {fragment.get('error') !== null && (
        <Alert color="red" role="alert">
          {t('entry.oidc_failed')}
        </Alert>
      )}
      <PasswordForm arrived={arrived} />
      {service.password_reset && (
        <Text size="sm" ta="center">
          <Link to="/forgot-password">{t('entry.forgot')}</Link>
        </Text>
      )}
      {service.oidc !== null && (
        <>
          <Divider label={t('entry.or')} />
          <Button component="a" href={service.oidc.start} variant="default" fullWidth>
            {t('entry.oidc', { name: service.oidc.name })}
          </Button>
        </>
      )}
      {service.signup === 'open' && (
        <Text size="sm" ta="center">
          {t('entry.no_account')} <Link to="/sign-up">{t('entry.sign_up')}</Link>
        </Text>
      )}
    </Stack>
  )
}

function PasswordForm({ arrived }: { readonly arrived: (answer: SignInAnswer) => void }): ReactNode {
  const { t } = useTranslation()
  const signIn = useAct('POST /cabinet/v1/sign-in', { quiet: true, done: arrived })
  const form = useForm({ initialValues: { email: '', password: '' } })
  return (
    <form onSubmit={form.onSubmit((body) => signIn.mutate({ body }))}>
      <Stack>
        {signIn.isError && <Failed failure={signIn.error} />}
        <TextInput
          label={t('entry.email')}
          type="email"
          autoComplete="username"
          required
          autoFocus
          {...form.getInputProps('email')}
        />
        <PasswordInput
          label={t('entry.password')}
          autoComplete="current-password"
          required
          visibilityToggleButtonProps={{ 'aria-label': t('entry.show_password') }}
          {...form.getInputProps('password')}
        />
        <Button type="submit" loading={signIn.isPending} fullWidth size="md">
          {t('entry.sign_in')}
        </Button>
      </Stack>
    </form>
  )
}

function CodeForm({
  ticket,
  arrived,
  back,
}: {
  readonly ticket: string
  readonly arrived: (answer: SignInAnswer) => void
  readonly back: () => void
}): ReactNode {
  const { t } = useTranslation()
  const send = useAct('POST /cabinet/v1/sign-in/code', { quiet: true, done: arrived })
  const form = useForm({ initialValues: { code: '' } })
  return (
    <form onSubmit={form.onSubmit(({ code }) => send.mutate({ body: { ticket, code: code.trim() } }))}>
      <Stack>
        <Title order={1} size="h2">
          {t('entry.code_title')}
        </Title>
        {send.isError && <Failed failure={send.error} />}
        <CodeField autoFocus {...form.getInputProps('code')} />
        <Button type="submit" loading={send.isPending} fullWidth size="md">
          {t('entry.sign_in')}
        </Button>
        <Button variant="subtle" onClick={back}>
          {t('common.back')}
        </Button>
      </Stack>
    </form>
  )
}
