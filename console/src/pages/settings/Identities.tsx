import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useLocation } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Identity } from '../../../../src/cabinet/identity-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { fieldFailure } from '../../parts/failure-text.ts'
import { DataList } from '../../parts/DataList.tsx'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { Section } from '../../parts/Section.tsx'
import { useProfile, useSession } from '../../session.tsx'
import { proofBody, ProofField, useProofKind } from './ProofField.tsx'

/** What needs a proof first: to add an identity, or to remove this one. */
type Asked = { readonly act: 'link' } | { readonly act: 'unlink'; readonly identity: Identity }

/** Who may sign in as this user by single sign-on. */
export function Identities(): ReactNode {
  const { t } = useTranslation()
  const { hash } = useLocation()
  const { service } = useSession()
  const identities = useRead('GET /cabinet/v1/identities', {})
  const [asked, setAsked] = useState<Asked | null>(null)
  const name = service.oidc?.name ?? t('security.oidc')
  const add = service.oidc !== null && identities.data?.data.length === 0 && (
    <Button size="xs" variant="default" onClick={() => setAsked({ act: 'link' })}>
      {t('security.oidc_add', { name })}
    </Button>
  )
  return (
    <Section title={t('security.oidc')} lead={t('security.oidc_lead')} actions={add}>
      {hash.startsWith('error=') && (
        <Alert color="red" role="alert">
          {t(hash === 'error=conflict' ? 'security.oidc_taken' : 'security.oidc_failed', { name })}
        </Alert>
      )}
      <Loaded of={identities} height={80}>
        {({ data }) => <Linked identities={data} ask={(identity) => setAsked({ act: 'unlink', identity })} />}
      </Loaded>
      <Dialog
        name="identity"
        opened={asked !== null}
        onClose={() => setAsked(null)}
        title={asked?.act === 'unlink' ? t('security.oidc_ask_remove', { name }) : t('security.oidc_add', { name })}
      >
        {asked !== null && <AskProof asked={asked} close={() => setAsked(null)} />}
      </Dialog>
    </Section>
  )
}

function Linked({
  identities,
  ask,
}: {
  readonly identities: readonly Identity[]
  readonly ask: (identity: Identity) => void
}): ReactNode {
  const { t } = useTranslation()
  const { has_password: hasPassword } = useProfile()
  return (
    <DataList
      name="identities"
      label={t('security.oidc')}
      rows={identities}
      rowId={({ id }) => id}
      empty={{ picture: 'shield', title: t('security.oidc_none') }}
      columns={[
        {
          id: 'who',
          title: t('security.oidc_who'),
          value: ({ email, subject }) => email ?? subject,
          cell: ({ email, subject }) => <span title={subject}>{email ?? subject}</span>,
        },
        { id: 'issuer', title: t('security.oidc_issuer'), value: ({ issuer }) => issuer, cell: ({ issuer }) => issuer },
        {
          id: 'since',
          title: t('security.oidc_since'),
          value: (identity) => identity.linked_at,
          cell: (identity) => identity.linked_at !== null && <Moment at={identity.linked_at} />,
        },
        {
          id: 'actions',
          title: '',
          end: true,
          cell: (identity) =>
            hasPassword ? (
              <Button size="compact-sm" variant="subtle" color="red" onClick={() => ask(identity)}>
                {t('security.oidc_remove')}
              </Button>
            ) : (
              <Text size="sm" c="dimmed">
                {t('security.oidc_only')}
              </Text>
            ),
        },
      ]}
    />
  )
}

function AskProof({ asked, close }: { readonly asked: Asked; readonly close: () => void }): ReactNode {
  const { t } = useTranslation()
  const { service } = useSession()
  const name = service.oidc?.name ?? t('security.oidc')
  const kind = useProofKind()
  const [value, setValue] = useState('')
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
  const act = asked.act === 'link' ? link : unlink
  const problem = fieldFailure(act.error, ['password', 'code'])
  const send = (): void => {
    const body = proofBody(kind, value)
    if (asked.act === 'link') link.mutate({ body })
    else unlink.mutate({ params: { id: asked.identity.id }, body })
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <Stack>
        {act.isError && problem === null && <Failed failure={act.error} />}
        <Text size="sm">
          {t(asked.act === 'link' ? 'security.oidc_add_text' : 'security.oidc_remove_text', { name })}
        </Text>
        <ProofField kind={kind} value={value} change={setValue} error={problem?.message ?? null} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
          <Button
            type="submit"
            loading={act.isPending}
            disabled={kind === 'stale'}
            {...(asked.act === 'unlink' ? { color: 'red.8' } : {})}
          >
            {asked.act === 'link' ? t('security.oidc_add', { name }) : t('security.oidc_remove')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
