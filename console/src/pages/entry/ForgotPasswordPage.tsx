import { Alert, Button, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { Link } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useAct } from '../../api/hooks.ts'
import { Failed } from '../../parts/Loaded.tsx'

/** Asks for a link by e-mail; the answer does not say whether there is such a user. */
export function ForgotPasswordPage(): ReactNode {
  const { t } = useTranslation()
  const ask = useAct('POST /cabinet/v1/password-reset', { quiet: true })
  const form = useForm({ initialValues: { email: '' } })
  useEffect(() => {
    document.title = `${t('entry.reset_title')} · Tollgate`
  }, [t])
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('entry.reset_title')}
      </Title>
      {ask.isSuccess ? (
        <Alert color="green" role="status">
          {t('entry.reset_sent')}
        </Alert>
      ) : (
        <form onSubmit={form.onSubmit((body) => ask.mutate({ body }))}>
          <Stack>
            <Text>{t('entry.reset_text')}</Text>
            {ask.isError && <Failed failure={ask.error} />}
            <TextInput
              label={t('entry.email')}
              type="email"
              autoComplete="username"
              required
              autoFocus
              {...form.getInputProps('email')}
            />
            <Button type="submit" loading={ask.isPending} fullWidth size="md">
              {t('entry.reset_send')}
            </Button>
          </Stack>
        </form>
      )}
      <Text size="sm" ta="center">
        <Link to="/sign-in">{t('common.back')}</Link>
      </Text>
    </Stack>
  )
}
