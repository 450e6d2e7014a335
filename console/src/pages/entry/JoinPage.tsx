import { Alert, Button, Loader, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { InvitationFacts } from '../../../../src/api/cabinet/member-contract.ts'
import type { SessionState } from '../../../../src/api/cabinet/session-contract.ts'
import { typed } from '../../api/endpoint.ts'
import { startSession, useAct } from '../../api/hooks.ts'
import { currentLanguage } from '../../i18n.ts'
import { useCall } from '../../parts/Form.tsx'
import { Failed } from '../../parts/Loaded.tsx'
import { NewPasswordField, usePasswordCheck } from '../../parts/proof.tsx'
import { t } from '../../parts/words.ts'
import { EmailField, EntryForm, EntryPage, NameField } from './EntryForm.tsx'
import { Note } from '../../parts/cells.tsx'

/** An invitation to an account: a signed-in person joins, a new one becomes a user. */
export function JoinPage() {
  const { token = '' } = useSearch({ strict: false })
  const check = useAct('POST /cabinet/v1/invitations/check', { quiet: true })
  const { mutate } = check
  useEffect(() => {
    if (token !== '') mutate({ body: { token } })
  }, [mutate, token])
  const name = check.data?.account_name ?? ''
  const unnamed = t('people.join_unnamed')
  return (
    <EntryPage title={name === '' ? unnamed : t('people.join_title', { name })} tab={unnamed}>
      {token === '' ? (
        <Alert color="yellow">{t('entry.no_token')}</Alert>
      ) : check.isError ? (
        <Failed failure={check.error} />
      ) : check.data === undefined ? (
        <Loader aria-label={t('common.loading')} />
      ) : (
        <Invited facts={check.data} token={token} />
      )}
    </EntryPage>
  )
}

function Invited({ facts, token }: { readonly facts: InvitationFacts; readonly token: string }) {
  const { role, email, signed_in_as: own } = facts
  return (
    <>
      <div>
        <Text>{t('people.join_role', { role: t(`people.${role}`) })}</Text>
        <Note>{t(`people.${role}_text`)}</Note>
      </div>
      {own === null ? (
        <NewPerson email={email} token={token} />
      ) : email !== null && own !== email ? (
        <Alert color="yellow">{t('people.wrong_person', { email, own })}</Alert>
      ) : (
        <Known own={own} token={token} />
      )}
    </>
  )
}

/** Opens the console in the account that was joined. */
function useJoined(): (state: SessionState) => void {
  const client = useQueryClient()
  const navigate = useNavigate()
  return (state) => {
    startSession(client, state)
    void navigate({ to: '/', replace: true })
  }
}

function Known({ own, token }: { readonly own: string; readonly token: string }) {
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

function NewPerson({ email, token }: { readonly email: string | null; readonly token: string }) {
  const form = useCall('POST /cabinet/v1/invitations/join', {
    done: useJoined(),
    first: { name: '', email: email ?? '', password: '' },
    check: { password: usePasswordCheck() },
    input: ({ name, ...person }) => ({ body: { token, ...person, ...typed({ name }), language: currentLanguage() } }),
  })
  return (
    <>
      <EntryForm of={form} act={t('people.join')}>
        <NameField {...form.field('name')} />
        <EmailField readOnly={email !== null} {...form.field('email')} />
        <NewPasswordField {...form.field('password')} />
      </EntryForm>
      <Text size="sm" ta="center">
        {t('people.have_user')}{' '}
        <Link to="/sign-in" search={{ next: `/join?token=${token}` }}>
          {t('entry.sign_in')}
        </Link>
      </Text>
    </>
  )
}
