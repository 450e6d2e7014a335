import '@mantine/core/styles/Radio.css'
import { Checkbox, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Invitation, Member } from '../../../../src/api/cabinet/member-contract.ts'
import type { MemberRole } from '../../../../src/api/cabinet/session-contract.ts'
import { MEMBER_ROLES } from '../../../../src/tables/scopes.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Moment, Press } from '../../parts/cells.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { AddButton, confirm, Dialog, Secret } from '../../parts/Dialog.tsx'
import { type Fields, Form, useCall } from '../../parts/Form.tsx'
import { EditIcon, TrashIcon } from '../../parts/icons.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { numberOf } from '../../parts/number-text.ts'
import { NumberField } from '../../parts/NumberField.tsx'
import { Page, Section } from '../../parts/Page.tsx'
import { PROOF_NAMES, proofBody, ProofField, useProofKind } from '../../parts/proof.tsx'
import { RowMenu } from '../../parts/RowMenu.tsx'
import { format, t } from '../../parts/words.ts'
import { useMay } from '../../session.tsx'

/** The dialog that is open over the list of people. */
type Opened = { readonly dialog: 'invite' } | { readonly dialog: 'change' | 'remove'; readonly member: Member }

/** The people of the account, their roles and limits, and the open invitations. */
export function PeoplePage() {
  const rules = useMay()('members:write')
  const people = useRead('GET /cabinet/v1/members', {})
  const [opened, open] = useState<Opened | null>(null)
  const close = (): void => open(null)
  const shown = (dialog: 'change' | 'remove'): Member | null => (opened?.dialog === dialog ? opened.member : null)
  const [changed, removed] = [shown('change'), shown('remove')]
  return (
    <Page
      title={t('nav.people')}
      lead={t('people.lead')}
      actions={rules && <AddButton onClick={() => open({ dialog: 'invite' })}>{t('people.invite')}</AddButton>}
    >
      <Loaded of={people} height={320}>
        {({ members, invitations }) => (
          <>
            <Members members={members} open={rules ? open : null} />
            {invitations.length > 0 && <Invitations invitations={invitations} />}
            <Leave members={members} />
          </>
        )}
      </Loaded>
      <InviteDialog opened={opened?.dialog === 'invite'} close={close} />
      <Dialog name="member" of={changed} close={close} title={t('people.change_of', { email: changed?.email ?? '' })}>
        {(member) => <ChangeForm member={member} close={close} />}
      </Dialog>
      <Dialog
        name="member-remove"
        of={removed}
        close={close}
        title={t('people.remove_title', { email: removed?.email ?? '' })}
      >
        {(member) => <RemoveForm member={member} close={close} />}
      </Dialog>
    </Page>
  )
}

interface MembersProps {
  readonly members: readonly Member[]
  /** null = the reader may not change people. */
  readonly open: ((opened: Opened) => void) | null
}

function Members({ members, open }: MembersProps) {
  const owners = members.filter(({ role }) => role === 'owner').length
  return (
    <DataList
      name="people"
      label={t('nav.people')}
      rows={members}
      rowId={({ user }) => user}
      empty={{ picture: 'people', title: t('people.none') }}
      columns={[
        {
          id: 'person',
          title: t('people.person'),
          value: 'email',
          cell: ({ email, you }) => (you ? `${email} (${t('people.you')})` : email),
          under: ({ name, email }) => name !== email && name,
        },
        { id: 'role', title: t('people.role'), value: ({ role }) => t(`people.${role}`) },
        { id: 'keys', title: t('nav.keys'), value: 'spent_month', cell: (member) => <Spending member={member} /> },
        { id: 'added', title: t('people.added'), as: 'date', value: 'added_at' },
        { id: 'seen', title: t('people.seen'), as: 'ago', value: 'last_sign_in_at' },
        ...(open === null
          ? []
          : [
              {
                id: t('common.actions'),
                end: true,
                // Nobody else can change an owner, and the last owner cannot be changed.
                cell: (member: Member) =>
                  (member.role !== 'owner' || (member.you && owners > 1)) && <MemberMenu member={member} open={open} />,
              },
            ]),
      ]}
    />
  )
}

function Spending({
  member: { email, role, keys, spent_month: spent, monthly_limit: limit },
}: {
  readonly member: Member
}) {
  if (role === 'billing' && keys === 0) return '–'
  return (
    <div>
      <Link to="/keys" search={{ by: email }}>
        {t('people.keys', { count: keys })}
      </Link>
      <div className="small">
        {limit === null
          ? t('people.no_limit', { spent: format.money(spent) })
          : t('people.limit_of', { spent: format.money(spent), limit: format.money(limit) })}
      </div>
    </div>
  )
}

function MemberMenu({ member, open }: { readonly member: Member; readonly open: (opened: Opened) => void }) {
  return (
    <RowMenu
      label={t('people.actions_of', { email: member.email })}
      entries={[
        { label: t('people.change'), icon: <EditIcon size={16} />, act: () => open({ dialog: 'change', member }) },
        member.role !== 'owner' && {
          label: t('people.remove'),
          icon: <TrashIcon size={16} />,
          harmful: true,
          act: () => open({ dialog: 'remove', member }),
        },
      ]}
    />
  )
}

function Invitations({ invitations }: { readonly invitations: readonly Invitation[] }) {
  const revoke = useAct('DELETE /cabinet/v1/invitations/:id', {
    renews: ['GET /cabinet/v1/members'],
    said: t('people.revoked'),
  })
  return (
    <Section title={t('people.invitations')} lead={t('people.invitations_lead')}>
      <DataList
        name="invitations"
        prefix="invited-"
        label={t('people.invitations')}
        rows={invitations}
        empty={{ picture: 'people', title: t('people.none') }}
        columns={[
          {
            id: 'person',
            title: t('people.person'),
            value: 'email',
            none: t('people.anyone'),
            under: (invitation) => t('people.by', { email: invitation.created_by }),
          },
          {
            id: 'role',
            title: t('people.role'),
            value: ({ role }) => t(`people.${role}`),
            under: ({ monthly_limit: limit }) => limit !== null && format.money(limit),
          },
          {
            id: 'until',
            title: t('keys.expiry'),
            end: true,
            value: 'expires_at',
            cell: ({ expires_at: at }) => <Moment at={at} said={(when) => t('people.until', { when })} />,
          },
          {
            id: t('common.actions'),
            acts: ({ id, email }) => [
              {
                label: t('people.revoke'),
                name: t('people.revoke_of', { email: email ?? t('people.anyone') }),
                harmful: true,
                run: () => revoke.mutate({ params: { id } }),
              },
            ],
          },
        ]}
      />
    </Section>
  )
}

/** Lets everybody but the last owner leave the account. */
function Leave({ members }: { readonly members: readonly Member[] }) {
  const client = useQueryClient()
  const leave = useAct('POST /cabinet/v1/members/leave', {
    done: () => {
      client.clear()
      // A full page load, so that nothing of this account stays in memory.
      window.location.assign('/sign-in')
    },
  })
  const you = members.find((member) => member.you)
  const isLast = you?.role === 'owner' && members.filter(({ role }) => role === 'owner').length === 1
  if (you === undefined || isLast) return null
  const ask = (): void =>
    confirm({
      name: 'leave',
      title: t('people.leave_title'),
      text: t('people.leave_text'),
      act: t('people.leave_act'),
      onConfirm: () => leave.mutate({}),
    })
  return (
    <div>
      <Press variant="default" onClick={ask} text={t('people.leave')} />
    </div>
  )
}

interface RoleValues {
  readonly role: MemberRole
  /** RUB as typed; empty = no limit. */
  readonly monthly_limit: string
  readonly proof: string
}

/** Fields for a person's role and, for a member, the spending limit of their keys. */
function RoleFields({ form: { values, set, field } }: { readonly form: Fields<RoleValues> }) {
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

/** The limit as the request body has it. */
function limitOf({ role, monthly_limit: limit }: RoleValues): number | null {
  return role === 'member' ? numberOf(limit) : null
}

interface Made {
  readonly link: string
  /** The address to which the link was sent; null = it was not sent. */
  readonly mailedTo: string | null
}

/** A dialog for an invitation: a role, then the link, which is shown only this time. */
function InviteDialog({ opened, close }: { readonly opened: boolean; readonly close: () => void }) {
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

function InviteForm({ done }: { readonly done: (made: Made) => void }) {
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

/** A dialog for another role or limit of a person. */
function ChangeForm({ member, close }: { readonly member: Member; readonly close: () => void }) {
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

/** Asks what to do with the person's keys. */
function RemoveForm({ member, close }: { readonly member: Member; readonly close: () => void }) {
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
