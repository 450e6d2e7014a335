import { Alert, Button, Text } from '@mantine/core'
import { useLocation } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import type { Identity } from '../../../../src/api/cabinet/identity-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { ReadList } from '../../parts/DataList.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Form, useFields } from '../../parts/Form.tsx'
import { Section } from '../../parts/Page.tsx'
import { PROOF_NAMES, proofBody, ProofField, useProofKind } from '../../parts/proof.tsx'
import { useWords } from '../../parts/words.ts'
import { useProfile, useSession } from '../../session.tsx'

/** What needs a proof first: to add an identity, or to remove this one. */
type Asked = Identity | 'link'

/** Who may sign in as this user by single sign-on. */
export function Identities(): ReactNode {
  const { t } = useWords()
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
          <Button size="xs" variant="default" onClick={() => setAsked('link')}>
            {t('security.oidc_add', { name })}
          </Button>
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
          { id: 'since', title: t('security.oidc_since'), as: 'moment', value: (identity) => identity.linked_at },
          {
            id: 'actions',
            acts: (identity) => [
              hasPassword ? (
                { label: t('security.oidc_remove'), harmful: true, run: () => setAsked(identity) }
              ) : (
                <Text key="only" size="sm" c="dimmed">
                  {t('security.oidc_only')}
                </Text>
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
  /** Of the service that signs in. */
  readonly name: string
  readonly close: () => void
}

function AskProof({ asked, name, close }: AskProofProps): ReactNode {
  const { t } = useWords()
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
