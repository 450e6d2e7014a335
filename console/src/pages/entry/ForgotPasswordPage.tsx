import { Alert, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useAct } from '../../api/hooks.ts'
import { currentLanguage } from '../../i18n.ts'
import { useFields } from '../../parts/Form.tsx'
import { t } from '../../parts/words.ts'
import { EmailField, EntryForm, EntryPage } from './EntryForm.tsx'

export function ForgotPasswordPage() {
  return (
    <EntryPage title={t('entry.reset_title')}>
      <LinkForm route="POST /cabinet/v1/password-reset" text={t('entry.reset_text')} sent={t('entry.reset_sent')} />
      <Text size="sm" ta="center">
        <Link to="/sign-in">{t('common.back')}</Link>
      </Text>
    </EntryPage>
  )
}

interface LinkFormProps {
  readonly route: 'POST /cabinet/v1/password-reset' | 'POST /cabinet/v1/sign-up/link'
  readonly text: string
  readonly sent: string
}

/** Asks for a link by e-mail; the answer does not reveal whether there is such a user. */
export function LinkForm({ route, text, sent }: LinkFormProps) {
  const ask = useAct(route, { quiet: true })
  const form = useFields({
    first: { email: '' },
    calls: [ask],
    send: (body) => ask.mutate({ body: { ...body, language: currentLanguage() } }),
  })
  return ask.isSuccess ? (
    <Alert color="green" role="status">
      {sent}
    </Alert>
  ) : (
    <EntryForm of={form} act={t('entry.reset_send')}>
      <Text>{text}</Text>
      <EmailField autoFocus {...form.field('email')} />
    </EntryForm>
  )
}
