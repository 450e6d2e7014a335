import { Alert, Button, Divider, PasswordInput, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { useState } from 'react'
import type { SignInAnswer } from '../../../../src/api/cabinet/session-contract.ts'
import { startSession } from '../../api/hooks.ts'
import { useCall } from '../../parts/Form.tsx'
import { CodeField } from '../../parts/proof.tsx'
import { t } from '../../parts/words.ts'
import { useSession } from '../../session.tsx'
import { EmailField, EntryForm, EntryPage } from './EntryForm.tsx'
import { Press } from '../../parts/cells.tsx'

/** E-mail and password, then a code if the user has two-step sign-in; or single sign-on. */
export function SignInPage() {
  const { hash } = useLocation()
  const { service } = useSession()
  const client = useQueryClient()
  const fragment = new URLSearchParams(hash)
  const [ticket, setTicket] = useState(fragment.get('ticket'))
  const arrived = (answer: SignInAnswer): void => {
    if (answer.status === 'code_required') return setTicket(answer.ticket)
    const { status: _, ...state } = answer
    startSession(client, state)
  }
  if (ticket !== null) return <CodeForm ticket={ticket} arrived={arrived} back={() => setTicket(null)} />
  return (
    <EntryPage title={t('entry.sign_in_title')}>
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
      {service.signup !== 'closed' && (
        <Text size="sm" ta="center">
          {t('entry.no_account')} <Link to="/sign-up">{t('entry.sign_up')}</Link>
        </Text>
      )}
    </EntryPage>
  )
}

interface Step {
  readonly arrived: (answer: SignInAnswer) => void
}

function PasswordForm({ arrived }: Step) {
  const form = useCall('POST /cabinet/v1/sign-in', {
    done: arrived,
    first: { email: '', password: '' },
    input: (body) => ({ body }),
  })
  return (
    <EntryForm of={form} act={t('entry.sign_in')}>
      <EmailField autoFocus {...form.field('email')} />
      <PasswordInput label={t('entry.password')} autoComplete="current-password" required {...form.field('password')} />
    </EntryForm>
  )
}

function CodeForm({ ticket, arrived, back }: Step & { readonly ticket: string; readonly back: () => void }) {
  const form = useCall('POST /cabinet/v1/sign-in/code', {
    done: arrived,
    first: { code: '' },
    input: ({ code }) => ({ body: { ticket, code: code.trim() } }),
  })
  return (
    <EntryPage title={t('entry.code_title')} tab={t('entry.sign_in_title')}>
      <EntryForm of={form} act={t('entry.sign_in')}>
        <CodeField autoFocus {...form.field('code')} />
      </EntryForm>
      <Press variant="subtle" onClick={back} text={t('common.back')} />
    </EntryPage>
  )
}
