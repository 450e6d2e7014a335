import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useAct } from '../../api/hooks.ts'
import { CodeField } from '../../parts/CodeField.tsx'
import { CopyBlock } from '../../parts/Copy.tsx'
import { Failed } from '../../parts/Loaded.tsx'
import { QrCode } from '../../parts/QrCode.tsx'
import { Section } from '../../parts/Section.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useProfile } from '../../session.tsx'
import { proofBody, ProofField, useProofKind } from './ProofField.tsx'

const RENEWS = ['GET /cabinet/v1/session', 'GET /cabinet/v1/sessions'] as const

/** Two-step sign-in: turning it on with an authenticator, its recovery codes, turning it off. */
export function TwoStep(): ReactNode {
  const { t } = useTranslation()
  const { totp } = useProfile()
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  return (
    <Section
      boxed
      title={t('security.totp')}
      lead={t('security.totp_lead')}
      actions={
        <StatusBadge tone={totp.enabled ? 'good' : 'quiet'}>
          {totp.enabled ? t('security.on') : t('security.off')}
        </StatusBadge>
      }
    >
      {codes !== null ? (
        <RecoveryCodes codes={codes} close={() => setCodes(null)} />
      ) : totp.enabled ? (
        <Enrolled left={totp.recovery_codes_left} shown={setCodes} />
      ) : (
        <Enrol done={setCodes} />
      )}
    </Section>
  )
}

function Enrol({ done }: { readonly done: (codes: readonly string[]) => void }): ReactNode {
  const { t } = useTranslation()
  const kind = useProofKind()
  const begin = useAct('POST /cabinet/v1/totp', { quiet: true })
  const confirm = useAct('POST /cabinet/v1/totp/confirm', {
    quiet: true,
    renews: RENEWS,
    done: (answer) => done(answer.recovery_codes),
  })
  const form = useForm({ initialValues: { password: '', code: '' } })
  const seed = begin.data
  if (seed === undefined) {
    return (
      <form onSubmit={form.onSubmit(({ password }) => begin.mutate({ body: proofBody(kind, password) }))}>
        <Stack>
          {begin.isError && <Failed failure={begin.error} />}
          <ProofField
            kind={kind}
            value={form.values.password}
            change={(value) => form.setFieldValue('password', value)}
            error={null}
          />
          <div>
            <Button type="submit" loading={begin.isPending} disabled={kind === 'stale'}>
              {t('security.turn_on')}
            </Button>
          </div>
        </Stack>
      </form>
    )
  }
  return (
    <form onSubmit={form.onSubmit(({ code }) => confirm.mutate({ body: { code: code.trim() } }))}>
      <Stack>
        {confirm.isError && <Failed failure={confirm.error} />}
        <Text size="sm">{t('security.seed')}</Text>
        <QrCode text={seed.uri} label={t('security.qr')} />
        <CopyBlock text={seed.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')} label={t('security.secret')} />
        {seed.uri.startsWith('otpauth://') && <a href={seed.uri}>{t('security.open_app')}</a>}
        <CodeField description={null} inputMode="numeric" {...form.getInputProps('code')} />
        <div>
          <Button type="submit" loading={confirm.isPending}>
            {t('security.confirm')}
          </Button>
        </div>
      </Stack>
    </form>
  )
}

function RecoveryCodes({ codes, close }: { readonly codes: readonly string[]; readonly close: () => void }): ReactNode {
  const { t } = useTranslation()
  return (
    <Stack>
      <Alert color="yellow">{t('security.codes_once')}</Alert>
      <CopyBlock text={codes.join('\n')} label={t('security.codes')} />
      <div>
        <Button onClick={close}>{t('security.codes_kept')}</Button>
      </div>
    </Stack>
  )
}

function Enrolled({
  left,
  shown,
}: {
  readonly left: number
  readonly shown: (codes: readonly string[]) => void
}): ReactNode {
  const { t } = useTranslation()
  const renew = useAct('POST /cabinet/v1/totp/recovery-codes', {
    quiet: true,
    renews: RENEWS,
    done: (answer) => shown(answer.recovery_codes),
  })
  const disable = useAct('POST /cabinet/v1/totp/disable', { quiet: true, renews: RENEWS, said: t('security.totp_off') })
  const form = useForm({ initialValues: { code: '' } })
  const failure = renew.error ?? disable.error
  const body = { code: form.values.code.trim() }
  return (
    <form onSubmit={form.onSubmit(() => renew.mutate({ body }))}>
      <Stack>
        {failure !== null && <Failed failure={failure} />}
        <Text size="sm">{t('security.codes_left', { count: left })}</Text>
        <CodeField {...form.getInputProps('code')} />
        <Group gap="xs">
          <Button type="submit" variant="default" loading={renew.isPending}>
            {t('security.new_codes')}
          </Button>
          <Button
            variant="subtle"
            color="red"
            loading={disable.isPending}
            disabled={body.code === ''}
            onClick={() => disable.mutate({ body })}
          >
            {t('security.turn_off')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
