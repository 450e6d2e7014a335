import { Alert, Button, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useState } from 'react'
import { encode } from 'uqr'
import type { Identity } from '../../../../src/api/cabinet/session-contract.ts'
import { setProfile, useAct, useRead } from '../../api/hooks.ts'
import { StatusBadge, Note, Press } from '../../parts/cells.tsx'
import { CopyBlock } from '../../parts/Copy.tsx'
import { ReadList } from '../../parts/DataList.tsx'
import { Dialog, Secret } from '../../parts/Dialog.tsx'
import { Form, useCall, useFields } from '../../parts/Form.tsx'
import { Page, Section } from '../../parts/Page.tsx'
import {
  CodeField,
  NewPasswordField,
  PROOF_NAMES,
  proofBody,
  ProofField,
  usePasswordCheck,
  useProofKind,
} from '../../parts/proof.tsx'
import { t } from '../../parts/words.ts'
import { useProfile, useSession } from '../../session.tsx'

const BROWSERS: readonly (readonly [mark: string, name: string])[] = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['YaBrowser/', 'Yandex Browser'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
]
const SYSTEMS: readonly (readonly [mark: string, name: string])[] = [
  ['Android', 'Android'],
  ['iPhone', 'iOS'],
  ['iPad', 'iPadOS'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
]
const SHOWN_MAX = 40
const SIGN_INS = 50

/** The password, two-step sign-in, active sessions and attempts to sign in. */
export function SecurityPage() {
  const { service } = useSession()
  const profile = useProfile()
  return (
    <Page title={t('nav.security')} lead={t('security.lead')}>
      <div className="halves">
        <Section boxed title={t('security.password')} lead={t('security.password_lead')}>
          <PasswordForm />
        </Section>
        <TwoStep />
      </div>
      {(service.oidc !== null || profile.has_oidc) && <Identities />}
      <Sessions />
      <SignIns />
    </Page>
  )
}

/** A form for a new password. A change ends all other sessions. */
function PasswordForm() {
  const { email } = useProfile()
  const kind = useProofKind()
  const client = useQueryClient()
  const form = useCall('POST /cabinet/v1/password', {
    said: t('security.password_changed'),
    renews: ['GET /cabinet/v1/sessions'],
    done: (profile, reset) => {
      reset()
      setProfile(client, profile)
    },
    first: { proof: '', new_password: '' },
    names: PROOF_NAMES,
    check: { new_password: usePasswordCheck() },
    input: ({ proof, ...body }) => ({
      body: { ...body, ...(kind === 'password' ? { current_password: proof } : proofBody(kind, proof)) },
    }),
  })
  return (
    <Form of={form} act={t('security.change_password')} look={{ disabled: kind === 'stale' }}>
      <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
      <ProofField kind={kind} {...form.field('proof')} />
      <NewPasswordField label={t('security.next')} {...form.field('new_password')} />
    </Form>
  )
}

function Sessions() {
  const renews = ['GET /cabinet/v1/sessions'] as const
  const revoke = useAct('POST /cabinet/v1/sessions/revoke-others', { renews, said: t('security.revoked') })
  const end = useAct('DELETE /cabinet/v1/sessions/:id', { renews, said: t('security.ended') })
  return (
    <Section
      title={t('security.sessions')}
      lead={t('security.sessions_lead')}
      actions={
        <Press
          size="xs"
          variant="default"
          loading={revoke.isPending}
          onClick={() =>
            revoke.ask({
              name: 'sessions-end',
              title: t('security.ask_revoke_others'),
              text: t('security.ask_end_text'),
              act: t('security.revoke_others'),
              input: {},
            })
          }
          text={t('security.revoke_others')}
        />
      }
    >
      <ReadList
        of={useRead('GET /cabinet/v1/sessions', {})}
        height={140}
        name="sessions"
        label={t('security.sessions')}
        empty={{ picture: 'shield', title: t('security.no_sessions') }}
        columns={[
          {
            id: 'agent',
            title: t('security.browser'),
            value: 'user_agent',
            hint: (session) => session.user_agent,
            cell: ({ user_agent: agent, current }) => (
              <>
                {shortAgent(agent)} {current && <StatusBadge tone="good">{t('security.this')}</StatusBadge>}
              </>
            ),
          },
          { id: 'ip', title: 'IP', value: ({ ip }) => ip },
          { id: 'created', title: t('security.since'), as: 'moment', value: 'created_at' },
          { id: 'seen', title: t('security.seen'), as: 'ago', end: false, value: 'last_seen_at' },
          {
            id: 'actions',
            acts: ({ id, current, ip, user_agent: agent }) => [
              !current && {
                label: t('security.end'),
                harmful: true,
                run: () =>
                  end.ask({
                    name: 'session-end',
                    title: t('security.ask_end', { agent: shortAgent(agent), ip }),
                    text: t('security.ask_end_text'),
                    act: t('security.end'),
                    input: { params: { id } },
                  }),
              },
            ],
          },
        ]}
      />
    </Section>
  )
}

function SignIns() {
  return (
    <Section title={t('security.sign_ins')} lead={t('security.sign_ins_lead')}>
      <ReadList
        of={useRead('GET /cabinet/v1/sign-ins', { query: { limit: SIGN_INS } })}
        height={200}
        name="sign-ins"
        prefix="sign-ins-"
        label={t('security.sign_ins')}
        empty={{ picture: 'shield', title: t('security.no_sign_ins') }}
        columns={[
          { id: 'at', title: t('log.time'), as: 'moment', value: ({ at }) => at },
          {
            id: 'outcome',
            title: t('request.outcome'),
            word: ({ outcome }) => [outcome === 'succeeded' ? 'good' : 'bad', t(`security.${outcome}`)],
          },
          { id: 'method', title: t('security.method'), value: ({ method }) => t(`security.method_${method}`) },
          { id: 'ip', title: 'IP', value: ({ ip }) => ip },
          {
            id: 'agent',
            title: t('security.browser'),
            value: 'user_agent',
            hint: (item) => item.user_agent,
            cell: (item) => shortAgent(item.user_agent),
          },
        ]}
      />
    </Section>
  )
}

/** `Chrome · Linux` instead of a whole User-Agent. An unknown one is shortened. */
function shortAgent(userAgent: string): string {
  const names = [BROWSERS, SYSTEMS]
    .map((table) => table.find(([mark]) => userAgent.includes(mark))?.[1])
    .filter((name) => name !== undefined)
  return names.length === 0 ? userAgent.slice(0, SHOWN_MAX) : names.join(' · ')
}

/** The action that waits for a proof: adding an identity, or removing this one. */
type Asked = Identity | 'link'

/** The single sign-on identities that may sign in as this user. */
function Identities() {
  const { hash } = useLocation()
  const { service } = useSession()
  const { has_password: hasPassword } = useProfile()
  const identities = useRead('GET /cabinet/v1/identities', {})
  const [asked, setAsked] = useState<Asked | null>(null)
  const close = (): void => setAsked(null)
  const name = service.oidc?.name ?? t('security.oidc')
  return (
    <Section
      title={t('security.oidc')}
      lead={t('security.oidc_lead')}
      actions={
        service.oidc !== null &&
        identities.data?.data.length === 0 && (
          <Press size="xs" variant="default" onClick={() => setAsked('link')} text={t('security.oidc_add', { name })} />
        )
      }
    >
      {hash.startsWith('error=') && (
        <Alert color="red" role="alert">
          {t(hash === 'error=conflict' ? 'security.oidc_taken' : 'security.oidc_failed', { name })}
        </Alert>
      )}
      <ReadList
        of={identities}
        height={80}
        name="identities"
        label={t('security.oidc')}
        empty={{ picture: 'shield', title: t('security.oidc_none') }}
        columns={[
          {
            id: 'who',
            title: t('security.oidc_who'),
            value: ({ email, subject }) => email ?? subject,
            hint: ({ subject }) => subject,
          },
          { id: 'issuer', title: t('security.oidc_issuer'), value: ({ issuer }) => issuer },
          { id: 'since', title: t('security.oidc_since'), as: 'moment', value: 'linked_at' },
          {
            id: 'actions',
            acts: (identity) => [
              hasPassword ? (
                { label: t('security.oidc_remove'), harmful: true, run: () => setAsked(identity) }
              ) : (
                <Note key="only">{t('security.oidc_only')}</Note>
              ),
            ],
          },
        ]}
      />
      <Dialog
        name="identity"
        of={asked}
        close={close}
        title={t(asked === null || asked === 'link' ? 'security.oidc_add' : 'security.oidc_ask_remove', { name })}
      >
        {(shown) => <AskProof asked={shown} name={name} close={close} />}
      </Dialog>
    </Section>
  )
}

interface AskProofProps {
  readonly asked: Asked
  /** The name of the single sign-on service. */
  readonly name: string
  readonly close: () => void
}

function AskProof({ asked, name, close }: AskProofProps) {
  const kind = useProofKind()
  const isLink = asked === 'link'
  const link = useAct('POST /cabinet/v1/identities/link', {
    quiet: true,
    done: ({ url }) => window.location.assign(url),
  })
  const unlink = useAct('POST /cabinet/v1/identities/:id/unlink', {
    quiet: true,
    said: t('security.oidc_removed'),
    renews: ['GET /cabinet/v1/identities', 'GET /cabinet/v1/session', 'GET /cabinet/v1/sessions'],
    done: close,
  })
  const form = useFields({
    first: { proof: '' },
    names: PROOF_NAMES,
    calls: [link, unlink],
    send: ({ proof }) => {
      const body = proofBody(kind, proof)
      if (isLink) link.mutate({ body })
      else unlink.mutate({ params: { id: asked.id }, body })
    },
  })
  return (
    <Form
      of={form}
      form="dialog"
      act={isLink ? t('security.oidc_add', { name }) : t('security.oidc_remove')}
      look={{ disabled: kind === 'stale', ...(isLink ? {} : { color: 'red.8' }) }}
      cancel={close}
    >
      <Text size="sm">{t(isLink ? 'security.oidc_add_text' : 'security.oidc_remove_text', { name })}</Text>
      <ProofField kind={kind} {...form.field('proof')} />
    </Form>
  )
}

const RENEWS = ['GET /cabinet/v1/session', 'GET /cabinet/v1/sessions'] as const

type Codes = readonly string[]

/** Two-step sign-in: turn it on with an authenticator, see its recovery codes, turn it off. */
function TwoStep() {
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

function Enrol({ done }: { readonly done: (codes: Codes) => void }) {
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

interface ConfirmProps {
  readonly seed: { readonly uri: string; readonly secret: string }
  readonly done: (codes: Codes) => void
}

function Confirm({ seed: { uri, secret }, done }: ConfirmProps) {
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

function Enrolled({ left, shown }: { readonly left: number; readonly shown: (codes: Codes) => void }) {
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
 * A text as a QR code, drawn in the browser because the text is a secret. It is dark on white in every theme, for
 * cameras need that.
 */
function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
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
