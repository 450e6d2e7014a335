import { Button, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { encode } from 'uqr'
import { useAct } from '../../api/hooks.ts'
import { CopyBlock } from '../../parts/Copy.tsx'
import { Secret } from '../../parts/Dialog.tsx'
import { Form, useCall, useFields } from '../../parts/Form.tsx'
import { Section } from '../../parts/Page.tsx'
import { StatusBadge } from '../../parts/cells.tsx'
import { CodeField, PROOF_NAMES, proofBody, ProofField, useProofKind } from '../../parts/proof.tsx'
import { useWords } from '../../parts/words.ts'
import { useProfile } from '../../session.tsx'

const RENEWS = ['GET /cabinet/v1/session', 'GET /cabinet/v1/sessions'] as const

type Codes = readonly string[]

/** Two-step sign-in: turning it on with an authenticator, its recovery codes, turning it off. */
export function TwoStep(): ReactNode {
  const { t } = useWords()
  const { totp } = useProfile()
  const [codes, setCodes] = useState<Codes | null>(null)
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
        <Secret
          text={codes.join('\n')}
          label={t('security.codes')}
          warning={t('security.codes_once')}
          kept={t('security.codes_kept')}
          close={() => setCodes(null)}
        />
      ) : totp.enabled ? (
        <Enrolled left={totp.recovery_codes_left} shown={setCodes} />
      ) : (
        <Enrol done={setCodes} />
      )}
    </Section>
  )
}

function Enrol({ done }: { readonly done: (codes: Codes) => void }): ReactNode {
  const { t } = useWords()
  const kind = useProofKind()
  const form = useCall('POST /cabinet/v1/totp', {
    first: { proof: '' },
    names: PROOF_NAMES,
    input: ({ proof }) => ({ body: proofBody(kind, proof) }),
  })
  if (form.answer !== undefined) return <Confirm seed={form.answer} done={done} />
  return (
    <Form of={form} act={t('security.turn_on')} look={{ disabled: kind === 'stale' }}>
      <ProofField kind={kind} {...form.field('proof')} />
    </Form>
  )
}

function Confirm({
  seed: { uri, secret },
  done,
}: {
  readonly seed: { readonly uri: string; readonly secret: string }
  readonly done: (codes: Codes) => void
}): ReactNode {
  const { t } = useWords()
  const form = useCall('POST /cabinet/v1/totp/confirm', {
    renews: RENEWS,
    done: (answer) => done(answer.recovery_codes),
    first: { code: '' },
    input: ({ code }) => ({ body: { code: code.trim() } }),
  })
  return (
    <Form of={form} act={t('security.confirm')}>
      <Text size="sm">{t('security.seed')}</Text>
      <QrCode text={uri} label={t('security.qr')} />
      <CopyBlock text={secret.replaceAll(/(.{4})(?=.)/g, '$1 ')} label={t('security.secret')} />
      {uri.startsWith('otpauth://') && <a href={uri}>{t('security.open_app')}</a>}
      <CodeField description={null} inputMode="numeric" {...form.field('code')} />
    </Form>
  )
}

function Enrolled({ left, shown }: { readonly left: number; readonly shown: (codes: Codes) => void }): ReactNode {
  const { t } = useWords()
  const renew = useAct('POST /cabinet/v1/totp/recovery-codes', {
    quiet: true,
    renews: RENEWS,
    done: (answer) => shown(answer.recovery_codes),
  })
  const disable = useAct('POST /cabinet/v1/totp/disable', { quiet: true, renews: RENEWS, said: t('security.totp_off') })
  const form = useFields({
    first: { code: '' },
    calls: [renew, disable],
    send: ({ code }) => renew.mutate({ body: { code: code.trim() } }),
  })
  const body = { code: form.values.code.trim() }
  return (
    <Form
      of={form}
      act={t('security.new_codes')}
      look={{ variant: 'default' }}
      beside={
        <Button variant="subtle" color="red" disabled={body.code === ''} onClick={() => disable.mutate({ body })}>
          {t('security.turn_off')}
        </Button>
      }
    >
      <Text size="sm">{t('security.codes_left', { count: left })}</Text>
      <CodeField {...form.field('code')} />
    </Form>
  )
}

const SIDE_PX = 200
const BORDER = 4

/**
 * A text as a QR code, drawn in the browser because the text is a secret. Dark on white in every theme, as cameras
 * expect.
 */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  const { data, size } = encode(text, { ecc: 'M', border: BORDER })
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return (
    <svg
      role="img"
      aria-label={label}
      width={SIDE_PX}
      height={SIDE_PX}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={dark.join('')} fill="#000" />
    </svg>
  )
}
