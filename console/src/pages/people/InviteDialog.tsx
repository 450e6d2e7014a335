import { Alert, Button, Stack, Text, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useAct } from '../../api/hooks.ts'
import { CopyBlock } from '../../parts/Copy.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { fieldFailure } from '../../parts/failure-text.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { proofBody, ProofField, useProofKind } from '../settings/ProofField.tsx'
import { limitOf, RoleFields, type RoleChoice } from './RoleFields.tsx'

interface Made {
  readonly link: string
  /** The address that it was mailed to; null = it was not. */
  readonly mailedTo: string | null
}

/** An invitation: a role, then its link, which is shown this once. */
export function InviteDialog({ opened, close }: { readonly opened: boolean; readonly close: () => void }): ReactNode {
  const { t } = useTranslation()
  const [made, setMade] = useState<Made | null>(null)
  const end = (): void => {
    setMade(null)
    close()
  }
  return (
    <Dialog
      name="invitation"
      opened={opened}
      onClose={end}
      title={made === null ? t('people.invite') : t('people.link_title')}
      closeOnClickOutside={made === null}
      closeOnEscape={made === null}
    >
      {opened && made === null && <InviteForm done={setMade} />}
      {made !== null && (
        <Stack>
          <Alert color="yellow">{t('people.link_once')}</Alert>
          <CopyBlock text={made.link} label={t('people.link')} />
          {made.mailedTo !== null && <Text size="sm">{t('people.link_mailed', { email: made.mailedTo })}</Text>}
          <Button ml="auto" onClick={end}>
            {t('people.kept')}
          </Button>
        </Stack>
      )}
    </Dialog>
  )
}

function InviteForm({ done }: { readonly done: (made: Made) => void }): ReactNode {
  const { t } = useTranslation()
  const proof = useProofKind()
  const [email, setEmail] = useState('')
  const [choice, setChoice] = useState<RoleChoice>({ role: 'member', limit: '' })
  const [proven, setProven] = useState('')
  const invite = useAct('POST /cabinet/v1/invitations', {
    quiet: true,
    renews: ['GET /cabinet/v1/members'],
    done: ({ link, mailed, email: address }) => done({ link, mailedTo: mailed ? address : null }),
  })
  const problem = fieldFailure(invite.error, ['email', 'password', 'code'])
  const isOwner = choice.role === 'owner'
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        invite.mutate({
          body: {
            role: choice.role,
            email: email.trim() === '' ? null : email.trim(),
            monthly_limit: limitOf(choice),
            ...(isOwner ? proofBody(proof, proven) : {}),
          },
        })
      }}
    >
      <Stack>
        {invite.isError && problem === null && <Failed failure={invite.error} />}
        <TextInput
          label={t('entry.email')}
          description={t('people.email_hint')}
          type="email"
          data-autofocus
          value={email}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
          error={problem?.field === 'email' ? problem.message : null}
        />
        <RoleFields choice={choice} change={setChoice} />
        {isOwner && (
          <ProofField
            kind={proof}
            value={proven}
            change={setProven}
            error={problem !== null && problem.field !== 'email' ? problem.message : null}
          />
        )}
        <Button ml="auto" type="submit" loading={invite.isPending}>
          {t('people.make_link')}
        </Button>
      </Stack>
    </form>
  )
}
