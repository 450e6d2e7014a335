import '@mantine/core/styles/Radio.css'
import { Checkbox, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import type { Member } from '../../../../src/api/cabinet/member-contract.ts'
import type { MemberRole } from '../../../../src/api/cabinet/session-contract.ts'
import { MEMBER_ROLES } from '../../../../src/tables/member-scopes.ts'
import { Dialog, Secret } from '../../parts/Dialog.tsx'
import { Form, useCall, type Fields } from '../../parts/Form.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { PROOF_NAMES, proofBody, ProofField, useProofKind } from '../../parts/proof.tsx'
import { useWords } from '../../parts/words.ts'

interface MemberDialogProps {
  /** null = closed. */
  readonly member: Member | null
  readonly close: () => void
}

interface RoleValues {
  readonly role: MemberRole
  /** RUB as typed; empty = no limit. */
  readonly monthly_limit: string
  readonly proof: string
}

/** What a person may do, and for a member how much their keys may spend. */
function RoleFields({ form: { values, set, field } }: { readonly form: Fields<RoleValues> }): ReactNode {
  const { t } = useWords()
  return (
    <>
      <Radio.Group
        label={t('people.role')}
        value={values.role}
        onChange={(value) => set({ role: MEMBER_ROLES.find((known) => known === value) ?? values.role })}
      >
        <Stack gap="xs" mt={6}>
          {MEMBER_ROLES.map((role) => (
            <Radio key={role} value={role} label={t(`people.${role}`)} description={t(`people.${role}_text`)} />
          ))}
        </Stack>
      </Radio.Group>
      {values.role === 'member' && (
        <NumberField
          label={t('people.limit')}
          description={t('people.limit_hint')}
          unit="₽"
          decimals={6}
          least={0}
          {...field('monthly_limit')}
        />
      )}
    </>
  )
}

/** The limit of a body. */
function limitOf({ role, monthly_limit: limit }: RoleValues): number | null {
  return role !== 'member' || limit.trim() === '' ? null : Number(limit)
}

interface Made {
  readonly link: string
  /** The address that it was mailed to; null = it was not. */
  readonly mailedTo: string | null
}

/** An invitation: a role, then its link, which is shown this once. */
export function InviteDialog({ opened, close }: { readonly opened: boolean; readonly close: () => void }): ReactNode {
  const { t } = useWords()
  const [made, setMade] = useState<Made | null>(null)
  const end = (): void => {
    setMade(null)
    close()
  }
  return (
    <Dialog
      name="invitation"
      of={opened}
      close={end}
      title={made === null ? t('people.invite') : t('people.link_title')}
      held={made !== null}
    >
      {made === null ? (
        <InviteForm done={setMade} />
      ) : (
        <Secret
          text={made.link}
          label={t('people.link')}
          warning={t('people.link_once')}
          kept={t('people.kept')}
          close={end}
        >
          {made.mailedTo !== null && <Text size="sm">{t('people.link_mailed', { email: made.mailedTo })}</Text>}
        </Secret>
      )}
    </Dialog>
  )
}

function InviteForm({ done }: { readonly done: (made: Made) => void }): ReactNode {
  const { t } = useWords()
  const proof = useProofKind()
  const first: RoleValues & { email: string } = { email: '', role: 'member', monthly_limit: '', proof: '' }
  const form = useCall('POST /cabinet/v1/invitations', {
    renews: ['GET /cabinet/v1/members'],
    done: ({ link, mailed, email: address }) => done({ link, mailedTo: mailed ? address : null }),
    first,
    names: PROOF_NAMES,
    input: ({ email, proof: proven, ...choice }) => ({
      body: {
        role: choice.role,
        email: email.trim() === '' ? null : email.trim(),
        monthly_limit: limitOf({ ...choice, proof: proven }),
        ...(choice.role === 'owner' ? proofBody(proof, proven) : {}),
      },
    }),
  })
  return (
    <Form of={form} form="dialog" act={t('people.make_link')}>
      <TextInput
        label={t('entry.email')}
        description={t('people.email_hint')}
        type="email"
        data-autofocus
        {...form.field('email')}
      />
      <RoleFields form={form as unknown as Fields<RoleValues>} />
      {form.values.role === 'owner' && <ProofField kind={proof} {...form.field('proof')} />}
    </Form>
  )
}

/** Another role or limit of a person. */
export function ChangeDialog({ member, close }: MemberDialogProps): ReactNode {
  const { t } = useWords()
  return (
    <Dialog name="member" of={member} close={close} title={t('people.change_of', { email: member?.email ?? '' })}>
      {(shown) => <ChangeForm member={shown} close={close} />}
    </Dialog>
  )
}

function ChangeForm({ member, close }: { readonly member: Member; readonly close: () => void }): ReactNode {
  const { t } = useWords()
  const proof = useProofKind()
  const isNewOwner = ({ role }: RoleValues): boolean => role === 'owner' && member.role !== 'owner'
  const { role, monthly_limit: limit } = member
  const first: RoleValues = { role, monthly_limit: limit === null ? '' : String(limit), proof: '' }
  const form = useCall('PATCH /cabinet/v1/members/:id', {
    renews: ['GET /cabinet/v1/members', 'GET /cabinet/v1/session'],
    said: t('common.saved'),
    done: close,
    first,
    names: PROOF_NAMES,
    input: (values) => ({
      params: { id: member.user },
      body: {
        role: values.role,
        monthly_limit: limitOf(values),
        ...(isNewOwner(values) ? proofBody(proof, values.proof) : {}),
      },
    }),
  })
  return (
    <Form of={form} form="dialog" act={t('common.save')}>
      <RoleFields form={form} />
      {isNewOwner(form.values) && <ProofField kind={proof} {...form.field('proof')} />}
    </Form>
  )
}

/** Asks what becomes of the person's keys. */
export function RemoveDialog({ member, close }: MemberDialogProps): ReactNode {
  const { t } = useWords()
  return (
    <Dialog
      name="member-remove"
      of={member}
      close={close}
      title={t('people.remove_title', { email: member?.email ?? '' })}
    >
      {(shown) => <RemoveForm member={shown} close={close} />}
    </Dialog>
  )
}

function RemoveForm({ member, close }: { readonly member: Member; readonly close: () => void }): ReactNode {
  const { t } = useWords()
  const form = useCall('POST /cabinet/v1/members/:id/remove', {
    renews: ['GET /cabinet/v1/members', 'GET /cabinet/v1/keys', 'GET /cabinet/v1/summary'],
    said: t('people.removed'),
    done: close,
    first: { disable_keys: true },
    input: (body) => ({ params: { id: member.user }, body }),
  })
  return (
    <Form of={form} form="dialog" act={t('people.remove_act')} look={{ color: 'red.8' }} cancel={close}>
      <Text size="sm">{t('people.remove_text')}</Text>
      {member.keys > 0 && (
        <Checkbox
          label={t('people.disable_keys')}
          description={t('people.keys', { count: member.keys })}
          {...form.field('disable_keys', 'checkbox')}
        />
      )}
    </Form>
  )
}
