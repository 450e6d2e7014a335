import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { setProfile, useAct, useRead } from '../../api/hooks.ts'
import { ReadList } from '../../parts/DataList.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { Page, Section } from '../../parts/Page.tsx'
import { StatusBadge } from '../../parts/cells.tsx'
import {
  NewPasswordField,
  PROOF_NAMES,
  proofBody,
  ProofField,
  usePasswordCheck,
  useProofKind,
} from '../../parts/proof.tsx'
import { useWords } from '../../parts/words.ts'
import { useProfile, useSession } from '../../session.tsx'
import { Identities } from './Identities.tsx'
import { TwoStep } from './TwoStep.tsx'

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
export function SecurityPage(): ReactNode {
  const { t } = useWords()
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
function PasswordForm(): ReactNode {
  const { t } = useWords()
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

function Sessions(): ReactNode {
  const { t } = useWords()
  const renews = ['GET /cabinet/v1/sessions'] as const
  const revoke = useAct('POST /cabinet/v1/sessions/revoke-others', { renews, said: t('security.revoked') })
  const end = useAct('DELETE /cabinet/v1/sessions/:id', { renews, said: t('security.ended') })
  return (
    <Section
      title={t('security.sessions')}
      lead={t('security.sessions_lead')}
      actions={
        <Button size="xs" variant="default" loading={revoke.isPending} onClick={() => revoke.mutate({})}>
          {t('security.revoke_others')}
        </Button>
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
            value: (session) => session.user_agent,
            hint: (session) => session.user_agent,
            cell: ({ user_agent: agent, current }) => (
              <>
                {shortAgent(agent)} {current && <StatusBadge tone="good">{t('security.this')}</StatusBadge>}
              </>
            ),
          },
          { id: 'ip', title: 'IP', value: ({ ip }) => ip },
          { id: 'created', title: t('security.since'), as: 'moment', value: (session) => session.created_at },
          { id: 'seen', title: t('security.seen'), as: 'ago', end: false, value: (session) => session.last_seen_at },
          {
            id: 'actions',
            acts: ({ id, current }) => [
              !current && { label: t('security.end'), harmful: true, run: () => end.mutate({ params: { id } }) },
            ],
          },
        ]}
      />
    </Section>
  )
}

function SignIns(): ReactNode {
  const { t } = useWords()
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
            value: (item) => item.user_agent,
            hint: (item) => item.user_agent,
            cell: (item) => shortAgent(item.user_agent),
          },
        ]}
      />
    </Section>
  )
}

/** `Chrome · Linux` instead of a whole User-Agent. An unknown one is cut. */
function shortAgent(userAgent: string): string {
  const names = [BROWSERS, SYSTEMS]
    .map((table) => table.find(([mark]) => userAgent.includes(mark))?.[1])
    .filter((name) => name !== undefined)
  return names.length === 0 ? userAgent.slice(0, SHOWN_MAX) : names.join(' · ')
}
