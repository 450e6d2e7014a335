import { Alert, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useAct } from '../../api/hooks.ts'
import { useFields } from '../../parts/Form.tsx'
import { t } from '../../parts/words.ts'
import { EmailField, EntryForm, EntryPage } from './EntryForm.tsx'

/** Asks for a link by e-mail; the answer does not reveal whether there is such a user. */
export function ForgotPasswordPage() {
  const ask = useAct('POST /cabinet/v1/password-reset', { quiet: true })
  const form = useFields({ first: { email: '' }, calls: [ask], send: (body) => ask.mutate({ body }) })
  return (
    <EntryPage title={t('entry.reset_title')}>
      {ask.isSuccess ? (
        <Alert color="green" role="status">
          {t('entry.reset_sent')}
        </Alert>
      ) : (
        <EntryForm of={form} act={t('entry.reset_send')}>
          <Text>{t('entry.reset_text')}</Text>
          <EmailField autoFocus {...form.field('email')} />
        </EntryForm>
      )}
      <Text size="sm" ta="center">
        <Link to="/sign-in">{t('common.back')}</Link>
      </Text>
    </EntryPage>
  )
}
