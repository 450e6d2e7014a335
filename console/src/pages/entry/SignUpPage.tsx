import { Alert, Button, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { startSession, useAct } from '../../api/hooks.ts'
import { currentLanguage } from '../../i18n.ts'
import { fieldFailure } from '../../parts/failure-text.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { NewPasswordField, usePasswordCheck } from '../../parts/NewPasswordField.tsx'
import { useSession } from '../../session.tsx'

/** A new customer: name, e-mail, password. */
export function SignUpPage(): ReactNode {
  const { t } = useTranslation()
  const { service } = useSession()
  const client = useQueryClient()
  const signUp = useAct('POST /cabinet/v1/sign-up', { quiet: true, done: (state) => startSession(client, state) })
  const form = useForm({
    initialValues: { name: '', email: '', password: '' },
    validate: { password: usePasswordCheck() },
  })
  useEffect(() => {
    document.title = `${t('entry.sign_up_title')} · Tollgate`
  }, [t])
  const problem = fieldFailure(signUp.error, ['email', 'password', 'name'])
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('entry.sign_up_title')}
      </Title>
      {service.signup === 'closed' ? (
        <Alert color="yellow">{t('entry.closed')}</Alert>
      ) : (
        <form
          onSubmit={form.onSubmit(({ name, ...body }) =>
            signUp.mutate({
              body: { ...body, ...(name.trim() === '' ? {} : { name: name.trim() }), language: currentLanguage() },
            }),
          )}
        >
          <Stack>
            {signUp.isError && problem === null && <Failed failure={signUp.error} />}
            <TextInput
              label={t('entry.name')}
              autoComplete="name"
              maxLength={100}
              {...form.getInputProps('name')}
              error={problem?.field === 'name' ? problem.message : form.errors['name']}
            />
            <TextInput
              label={t('entry.email')}
              type="email"
              autoComplete="username"
              required
              {...form.getInputProps('email')}
              error={problem?.field === 'email' ? problem.message : form.errors['email']}
            />
            <NewPasswordField
              label={t('entry.password')}
              {...form.getInputProps('password')}
              error={problem?.field === 'password' ? problem.message : form.errors['password']}
            />
            <Button type="submit" loading={signUp.isPending} fullWidth size="md">
              {t('entry.sign_up')}
            </Button>
          </Stack>
        </form>
      )}
      <Text size="sm" ta="center">
        {t('entry.have_account')} <Link to="/sign-in">{t('entry.sign_in')}</Link>
      </Text>
    </Stack>
  )
}
