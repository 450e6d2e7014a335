import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { SessionItem, SignInItem } from '../../../../src/api/cabinet/session-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { Page } from '../../parts/Page.tsx'
import { Section } from '../../parts/Section.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useProfile, useSession } from '../../session.tsx'
import css from '../../style/layout.module.css'
import { Identities } from './Identities.tsx'
import { PasswordForm } from './PasswordForm.tsx'
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
  const { t } = useTranslation()
  const { service } = useSession()
  const profile = useProfile()
  const sessions = useRead('GET /cabinet/v1/sessions', {})
  const signIns = useRead('GET /cabinet/v1/sign-ins', { query: { limit: SIGN_INS } })
  const revoke = useAct('POST /cabinet/v1/sessions/revoke-others', {
    renews: ['GET /cabinet/v1/sessions'],
    said: t('security.revoked'),
  })
  return (
    <Page title={t('nav.security')} lead={t('security.lead')}>
      <div className={css.halves}>
        <Section boxed title={t('security.password')} lead={t('security.password_lead')}>
          <PasswordForm />
        </Section>
        <TwoStep />
      </div>
      {(service.oidc !== null || profile.has_oidc) && <Identities />}
      <Section
        title={t('security.sessions')}
        lead={t('security.sessions_lead')}
        actions={
          <Button size="xs" variant="default" loading={revoke.isPending} onClick={() => revoke.mutate({})}>
            {t('security.revoke_others')}
          </Button>
        }
      >
        <Loaded of={sessions} height={140}>
          {({ data }) => <Sessions sessions={data} />}
        </Loaded>
      </Section>
      <Section title={t('security.sign_ins')} lead={t('security.sign_ins_lead')}>
        <Loaded of={signIns} height={200}>
          {({ data }) => <SignIns items={data} />}
        </Loaded>
      </Section>
    </Page>
  )
}

function Sessions({ sessions }: { readonly sessions: readonly SessionItem[] }): ReactNode {
  const { t } = useTranslation()
  const end = useAct('DELETE /cabinet/v1/sessions/:id', {
    renews: ['GET /cabinet/v1/sessions'],
    said: t('security.ended'),
  })
  return (
    <DataList
      name="sessions"
      label={t('security.sessions')}
      rows={sessions}
      rowId={({ id }) => id}
      empty={{ picture: 'shield', title: t('security.no_sessions') }}
      columns={[
        {
          id: 'agent',
          title: t('security.browser'),
          value: (session) => session.user_agent,
          cell: (session) => (
            <span title={session.user_agent}>
              {shortAgent(session.user_agent)}{' '}
              {session.current && <StatusBadge tone="good">{t('security.this')}</StatusBadge>}
            </span>
          ),
        },
        { id: 'ip', title: 'IP', value: ({ ip }) => ip, cell: ({ ip }) => ip },
        {
          id: 'created',
          title: t('security.since'),
          value: (session) => session.created_at,
          cell: (session) => <Moment at={session.created_at} />,
        },
        {
          id: 'seen',
          title: t('security.seen'),
          value: (session) => session.last_seen_at,
          cell: (session) => <Moment at={session.last_seen_at} as="ago" />,
        },
        {
          id: 'actions',
          title: '',
          end: true,
          cell: ({ id, current }) =>
            current ? (
              ''
            ) : (
              <Button size="compact-sm" variant="subtle" color="red" onClick={() => end.mutate({ params: { id } })}>
                {t('security.end')}
              </Button>
            ),
        },
      ]}
    />
  )
}

function SignIns({ items }: { readonly items: readonly SignInItem[] }): ReactNode {
  const { t } = useTranslation()
  return (
    <DataList
      name="sign-ins"
      prefix="sign-ins-"
      label={t('security.sign_ins')}
      rows={items}
      rowId={({ id }) => id}
      empty={{ picture: 'shield', title: t('security.no_sign_ins') }}
      columns={[
        { id: 'at', title: t('log.time'), value: ({ at }) => at, cell: ({ at }) => <Moment at={at} /> },
        {
          id: 'outcome',
          title: t('request.outcome'),
          value: ({ outcome }) => t(`security.${outcome}`),
          cell: ({ outcome }) => (
            <StatusBadge tone={outcome === 'succeeded' ? 'good' : 'bad'}>{t(`security.${outcome}`)}</StatusBadge>
          ),
        },
        {
          id: 'method',
          title: t('security.method'),
          value: ({ method }) => t(`security.method_${method}`),
          cell: ({ method }) => t(`security.method_${method}`),
        },
        { id: 'ip', title: 'IP', value: ({ ip }) => ip, cell: ({ ip }) => ip },
        {
          id: 'agent',
          title: t('security.browser'),
          value: (item) => item.user_agent,
          cell: (item) => <span title={item.user_agent}>{shortAgent(item.user_agent)}</span>,
        },
      ]}
    />
  )
}

/** `Chrome · Linux` instead of a whole User-Agent. An unknown one is cut. */
function shortAgent(userAgent: string): string {
  const names = [BROWSERS, SYSTEMS]
    .map((table) => table.find(([mark]) => userAgent.includes(mark))?.[1])
    .filter((name) => name !== undefined)
  return names.length === 0 ? userAgent.slice(0, SHOWN_MAX) : names.join(' · ')
}
