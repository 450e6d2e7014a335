import { Alert, Button, Loader, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { InvitationFacts } from '../../../../src/api/cabinet/member-contract.ts'
import type { SessionState } from '../../../../src/api/cabinet/session-contract.ts'
import { startSession, useAct } from '../../api/hooks.ts'
import { currentLanguage } from '../../i18n.ts'
import { fieldFailure } from '../../parts/failure-text.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { NewPasswordField, usePasswordCheck } from '../../parts/NewPasswordField.tsx'

/** An invitation to an account: a signed-in person joins, a new one becomes a user. */
export function JoinPage(): ReactNode {
  const { t } = useTranslation()
  const { token = '' } = useSearch({ strict: false })
  const check = useAct('POST /cabinet/v1/invitations/check', { quiet: true })
  const { mutate } = check
  useEffect(() => {
    document.title = `${t('people.join_unnamed')} · Tollgate`
  }, [t])
  useEffect(() => {
    if (token !== '') mutate({ body: { token } })
  }, [mutate, token])
  const name = check.data?.account_name ?? ''
  return (
    <Stack>
      <Title order={1} size="h2">
        {name === '' ? t('people.join_unnamed') : t('people.join_title', { name })}
      </Title>
      {token === '' ? (
        <Alert color="yellow">{t('entry.no_token')}</Alert>
      ) : check.isError ? (
        <Failed failure={check.error} />
      ) : check.data === undefined ? (
        <Loader aria-label={t('common.loading')} />
      ) : (
        <Invited facts={check.data} token={token} />
      )}
    </Stack>
  )
}

function Invited({ facts, token }: { readonly facts: InvitationFacts; readonly token: string }): ReactNode {
  const { t } = useTranslation()
  const { role, email, signed_in_as: own } = facts
  const isOther = own !== null && email !== null && own !== email
  return (
    <>
      <div>
        <Text>{t('people.join_role', { role: t(`people.${role}`) })}</Text>
        <Text size="sm" c="dimmed">
          {t(`people.${role}_text`)}
        </Text>
      </div>
      {isOther ? (
        <Alert color="yellow">{t('people.wrong_person', { email, own })}</Alert>
      ) : own === null ? (
        <NewPerson email={email} token={token} />
      ) : (
        <Known own={own} token={token} />
      )}
    </>
  )
}

/** The console opens in the account that was joined. */
function useJoined(): (state: SessionState) => void {
  const client = useQueryClient()
  const navigate = useNavigate()
  return (state) => {
    startSession(client, state)
    void navigate({ to: '/', replace: true })
  }
}

function Known({ own, token }: { readonly own: string; readonly token: string }): ReactNode {
  const { t } = useTranslation()
  const join = useAct('POST /cabinet/v1/invitations/join', { quiet: true, done: useJoined() })
  return (
    <Stack>
      {join.isError && <Failed failure={join.error} />}
      <Button size="md" fullWidth loading={join.isPending} onClick={() => join.mutate({ body: { token } })}>
        {t('people.join_as', { email: own })}
      </Button>
    </Stack>
  )
}

function NewPerson({ email, token }: { readonly email: string | null; readonly token: string }): ReactNode {
  const { t } = useTranslation()
  const join = useAct('POST /cabinet/v1/invitations/join', { quiet: true, done: useJoined() })
  const form = useForm({
    initialValues: { name: '', email: email ?? '', password: '' },
    validate: { password: usePasswordCheck() },
  })
  const problem = fieldFailure(join.error, ['email', 'password', 'name'])
  return (
    <form
      onSubmit={form.onSubmit(({ name, ...person }) =>
        join.mutate({
          body: {
            token,
            ...person,
            ...(name.trim() === '' ? {} : { name: name.trim() }),
            language: currentLanguage(),
          },
        }),
      )}
    >
      <Stack>
        {join.isError && problem === null && <Failed failure={join.error} />}
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
          readOnly={email !== null}
          {...form.getInputProps('email')}
          error={problem?.field === 'email' ? problem.message : form.errors['email']}
        />
        <NewPasswordField
          label={t('entry.password')}
          {...form.getInputProps('password')}
          error={problem?.field === 'password' ? problem.message : form.errors['password']}
        />
        <Button type="submit" loading={join.isPending} fullWidth size="md">
          {t('people.join')}
        </Button>
        <Text size="sm" ta="center">
          {t('people.have_user')}{' '}
          <Link to="/sign-in" search={{ next: `/join?token=${token}` }}>
            {t('entry.sign_in')}
          </Link>
        </Text>
      </Stack>
    </form>
  )
}
