import { Alert, Button, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/endpoint.ts'
import { startSession, useAct } from '../../api/hooks.ts'
import { CodeField } from '../../parts/CodeField.tsx'
import { fieldFailure } from '../../parts/failure-text.ts'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { NewPasswordField, usePasswordCheck } from '../../parts/NewPasswordField.tsx'

/** The page of a one-time link: for the first administrator, for an invited one, or for a new password. */
export function SetupPage(): ReactNode {
  const { t } = useTranslation()
  const { searchStr } = useLocation()
  const token = new URLSearchParams(searchStr).get('token') ?? ''
  const check = useQuery({
    queryKey: ['setup', token],
    queryFn: () => call('POST /cabinet/v1/setup/check', { body: { token } }),
    enabled: token !== '',
    retry: false,
    staleTime: Infinity,
  })
  useEffect(() => {
    document.title = `${t('entry.setup')} · Tollgate`
  }, [t])
  return (
    <Stack>
      <Title order={1} size="h2">
        {check.data === undefined ? t('entry.setup') : t(`entry.setup_${check.data.purpose}`)}
      </Title>
      {token === '' ? (
        <Alert color="yellow">{t('entry.no_token')}</Alert>
      ) : (
        <Loaded of={check} height={300}>
          {(answer) => <SetupForm token={token} answer={answer} />}
        </Loaded>
      )}
    </Stack>
  )
}

interface SetupProps {
  readonly token: string
  readonly answer: Answer<'POST /cabinet/v1/setup/check'>
}

function SetupForm({ token, answer }: SetupProps): ReactNode {
  const { t } = useTranslation()
  const setup = useSetup(answer.purpose)
  const form = useForm({
    initialValues: { email: answer.email ?? '', password: '', code: '' },
    validate: { password: usePasswordCheck() },
  })
  const problem = fieldFailure(setup.error, ['email', 'password', 'code'])
  return (
    <form
      onSubmit={form.onSubmit(({ email, password, code }) =>
        setup.mutate({
          body: {
            token,
            password,
            ...(answer.email === null ? { email } : {}),
            ...(answer.code_required ? { code: code.trim() } : {}),
          },
        }),
      )}
    >
      <Stack>
        <Text c="dimmed" size="sm">
          {t('entry.setup_text')}
        </Text>
        {setup.isError && problem === null && <Failed failure={setup.error} />}
        <TextInput
          label={t('entry.email')}
          type="email"
          autoComplete="username"
          required
          readOnly={answer.email !== null}
          {...form.getInputProps('email')}
          error={problem?.field === 'email' ? problem.message : null}
        />
        <NewPasswordField
          label={t('entry.password')}
          {...form.getInputProps('password')}
          error={problem?.field === 'password' ? problem.message : form.errors['password']}
        />
        {answer.code_required && (
          <CodeField {...form.getInputProps('code')} error={problem?.field === 'code' ? problem.message : null} />
        )}
        <Button type="submit" loading={setup.isPending} fullWidth size="md">
          {t('entry.setup_submit')}
        </Button>
      </Stack>
    </form>
  )
}

/** Sets the user up and signs them in. A new administrator continues at two-step sign-in, which they must turn on. */
function useSetup(purpose: SetupProps['answer']['purpose']) {
  const client = useQueryClient()
  const navigate = useNavigate()
  return useAct('POST /cabinet/v1/setup', {
    quiet: true,
    done: (state) => {
      startSession(client, state)
      void navigate({ to: purpose === 'password' ? '/' : '/security', replace: true })
    },
  })
}
