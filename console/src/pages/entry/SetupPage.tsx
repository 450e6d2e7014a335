import { Alert } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/endpoint.ts'
import { startSession } from '../../api/hooks.ts'
import { useCall } from '../../parts/Form.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { CodeField, NewPasswordField, usePasswordCheck } from '../../parts/proof.tsx'
import { t } from '../../parts/words.ts'
import { EmailField, EntryForm, EntryPage } from './EntryForm.tsx'
import { Note } from '../../parts/cells.tsx'

/** The page of a mailed or printed link: who opens it chooses a password. */
export function SetupPage() {
  const { searchStr } = useLocation()
  const token = new URLSearchParams(searchStr).get('token') ?? ''
  const check = useQuery({
    queryKey: ['setup', token],
    queryFn: () => call('POST /cabinet/v1/setup/check', { body: { token } }),
    enabled: token !== '',
    retry: false,
    staleTime: Infinity,
  })
  const title = check.data === undefined ? t('entry.setup') : t(`entry.setup_${check.data.purpose}`)
  return (
    <EntryPage title={title} tab={t('entry.setup')}>
      {token === '' ? (
        <Alert color="yellow">{t('entry.no_token')}</Alert>
      ) : (
        <Loaded of={check} height={300}>
          {(answer) => <SetupForm token={token} answer={answer} />}
        </Loaded>
      )}
    </EntryPage>
  )
}

interface SetupProps {
  readonly token: string
  readonly answer: Answer<'POST /cabinet/v1/setup/check'>
}

/** Sets the user up and signs them in. Their first page says what comes next, such as two-step sign-in. */
function SetupForm({ token, answer }: SetupProps) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const form = useCall('POST /cabinet/v1/setup', {
    done: (state) => {
      startSession(client, state)
      void navigate({ to: state.profile?.role === 'admin' ? '/operator' : '/', replace: true })
    },
    first: { email: answer.email ?? '', password: '', code: '' },
    check: { password: usePasswordCheck() },
    input: ({ email, password, code }) => ({
      body: {
        token,
        password,
        ...(answer.email === null ? { email } : {}),
        ...(answer.code_required ? { code: code.trim() } : {}),
      },
    }),
  })
  return (
    <EntryForm of={form} act={t('entry.setup_submit')}>
      {answer.purpose !== 'sign_up' && <Note>{t('entry.setup_text')}</Note>}
      <EmailField readOnly={answer.email !== null} {...form.field('email')} />
      <NewPasswordField {...form.field('password')} />
      {answer.code_required && <CodeField {...form.field('code')} />}
    </EntryForm>
  )
}
