import { Button, Checkbox, Group, Stack, Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Member } from '../../../../src/api/cabinet/member-contract.ts'
import { useAct } from '../../api/hooks.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { fieldFailure } from '../../parts/failure-text.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { proofBody, ProofField, useProofKind } from '../settings/ProofField.tsx'
import { limitOf, RoleFields, type RoleChoice } from './RoleFields.tsx'

interface MemberDialogProps {
  /** null = closed. */
  readonly member: Member | null
  readonly close: () => void
}

/** Another role or limit of a person. */
export function ChangeDialog({ member, close }: MemberDialogProps): ReactNode {
  const { t } = useTranslation()
  return (
    <Dialog
      name="member"
      opened={member !== null}
      onClose={close}
      title={t('people.change_of', { email: member?.email ?? '' })}
    >
      {member !== null && <ChangeForm member={member} close={close} />}
    </Dialog>
  )
}

function ChangeForm({ member, close }: { readonly member: Member; readonly close: () => void }): ReactNode {
  const { t } = useTranslation()
  const proof = useProofKind()
  const [choice, setChoice] = useState<RoleChoice>({
    role: member.role,
    limit: member.monthly_limit === null ? '' : String(member.monthly_limit),
  })
  const [proven, setProven] = useState('')
  const change = useAct('PATCH /cabinet/v1/members/:id', {
    quiet: true,
    renews: ['GET /cabinet/v1/members', 'GET /cabinet/v1/session'],
    said: t('common.saved'),
    done: close,
  })
  const problem = fieldFailure(change.error, ['password', 'code'])
  const isNewOwner = choice.role === 'owner' && member.role !== 'owner'
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const body = { role: choice.role, monthly_limit: limitOf(choice) }
        change.mutate({
          params: { id: member.user },
          body: { ...body, ...(isNewOwner ? proofBody(proof, proven) : {}) },
        })
      }}
    >
      <Stack>
        {change.isError && problem === null && <Failed failure={change.error} />}
        <RoleFields choice={choice} change={setChoice} />
        {isNewOwner && (
          <ProofField
            kind={proof}
            value={proven}
            change={setProven}
            error={problem === null ? null : problem.message}
          />
        )}
        <Button ml="auto" type="submit" loading={change.isPending}>
          {t('common.save')}
        </Button>
      </Stack>
    </form>
  )
}

/** Asks what becomes of the person's keys. */
export function RemoveDialog({ member, close }: MemberDialogProps): ReactNode {
  const { t } = useTranslation()
  const [disables, setDisables] = useState(true)
  const remove = useAct('POST /cabinet/v1/members/:id/remove', {
    renews: ['GET /cabinet/v1/members', 'GET /cabinet/v1/keys', 'GET /cabinet/v1/summary'],
    said: t('people.removed'),
    done: close,
  })
  return (
    <Dialog
      name="member-remove"
      opened={member !== null}
      onClose={close}
      title={t('people.remove_title', { email: member?.email ?? '' })}
    >
      {member !== null && (
        <Stack>
          <Text size="sm">{t('people.remove_text')}</Text>
          {member.keys > 0 && (
            <Checkbox
              label={t('people.disable_keys')}
              description={t('people.keys', { count: member.keys })}
              checked={disables}
              onChange={({ currentTarget }) => setDisables(currentTarget.checked)}
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t('common.cancel')}
            </Button>
            <Button
              color="red.8"
              loading={remove.isPending}
              onClick={() => remove.mutate({ params: { id: member.user }, body: { disable_keys: disables } })}
            >
              {t('people.remove_act')}
            </Button>
          </Group>
        </Stack>
      )}
    </Dialog>
  )
}
