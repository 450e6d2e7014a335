import { Alert, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { typed } from '../../api/endpoint.ts'
import { startSession } from '../../api/hooks.ts'
import { currentLanguage } from '../../i18n.ts'
import { useCall } from '../../parts/Form.tsx'
import { NewPasswordField, usePasswordCheck } from '../../parts/proof.tsx'
import { t } from '../../parts/words.ts'
import { useSession } from '../../session.tsx'
import { EmailField, EntryForm, EntryPage, NameField } from './EntryForm.tsx'
import { LinkForm } from './ForgotPasswordPage.tsx'

/** How a new customer gets in, as the operator has set it. */
export function SignUpPage() {
  const { service } = useSession()
  return (
    <EntryPage title={t('entry.sign_up_title')}>
      {service.signup === 'open' && <SignUpForm />}
      {service.signup === 'confirmed' && (
        <LinkForm route="POST /cabinet/v1/sign-up/link" text={t('entry.confirm_text')} sent={t('entry.confirm_sent')} />
      )}
      {service.signup === 'closed' && <Alert color="yellow">{t('entry.closed')}</Alert>}
      <Text size="sm" ta="center">
        {t('entry.have_account')} <Link to="/sign-in">{t('entry.sign_in')}</Link>
      </Text>
    </EntryPage>
  )
}

/** Name, e-mail, password. */
function SignUpForm() {
  const client = useQueryClient()
  const form = useCall('POST /cabinet/v1/sign-up', {
    done: (state) => startSession(client, state),
    first: { name: '', email: '', password: '' },
    check: { password: usePasswordCheck() },
    input: ({ name, ...body }) => ({ body: { ...body, ...typed({ name }), language: currentLanguage() } }),
  })
  return (
    <EntryForm of={form} act={t('entry.sign_up')}>
      <NameField {...form.field('name')} />
      <EmailField {...form.field('email')} />
      <NewPasswordField {...form.field('password')} />
    </EntryForm>
  )
}
