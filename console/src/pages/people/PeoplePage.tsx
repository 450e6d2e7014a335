import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Invitation, Member } from '../../../../src/api/cabinet/member-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { AddButton, confirm } from '../../parts/Dialog.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page, Section } from '../../parts/Page.tsx'
import { RowMenu } from '../../parts/RowMenu.tsx'
import { Moment } from '../../parts/cells.tsx'
import { EditIcon, TrashIcon } from '../../parts/icons.ts'
import { useWords } from '../../parts/words.ts'
import { useMay } from '../../session.tsx'
import { ChangeDialog, InviteDialog, RemoveDialog } from './MemberDialogs.tsx'

/** What stands over the list of people. */
type Opened = { readonly dialog: 'invite' } | { readonly dialog: 'change' | 'remove'; readonly member: Member }

/** The people of the account, their roles and limits, and the open invitations. */
export function PeoplePage(): ReactNode {
  const { t } = useWords()
  const rules = useMay()('members:write')
  const people = useRead('GET /cabinet/v1/members', {})
  const [opened, open] = useState<Opened | null>(null)
  const close = (): void => open(null)
  const shown = (dialog: 'change' | 'remove'): Member | null => (opened?.dialog === dialog ? opened.member : null)
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
      <ChangeDialog member={shown('change')} close={close} />
      <RemoveDialog member={shown('remove')} close={close} />
    </Page>
  )
}

interface MembersProps {
  readonly members: readonly Member[]
  /** null = the reader changes nobody. */
  readonly open: ((opened: Opened) => void) | null
}

function Members({ members, open }: MembersProps): ReactNode {
  const { t } = useWords()
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
          value: ({ email }) => email,
          cell: ({ email, you }) => (you ? `${email} (${t('people.you')})` : email),
          under: ({ name, email }) => name !== email && name,
        },
        { id: 'role', title: t('people.role'), value: ({ role }) => t(`people.${role}`) },
        {
          id: 'keys',
          title: t('nav.keys'),
          value: (member) => member.spent_month,
          cell: (member) => <Spending member={member} />,
        },
        { id: 'added', title: t('people.added'), as: 'date', value: (member) => member.added_at },
        { id: 'seen', title: t('people.seen'), as: 'ago', value: (member) => member.last_sign_in_at },
        ...(open === null
          ? []
          : [
              {
                id: t('common.actions'),
                end: true,
                // An owner is changed by nobody else, and the last one stays.
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
}): ReactNode {
  const { t, format } = useWords()
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

function MemberMenu({ member, open }: { readonly member: Member; readonly open: (opened: Opened) => void }): ReactNode {
  const { t } = useWords()
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

function Invitations({ invitations }: { readonly invitations: readonly Invitation[] }): ReactNode {
  const { t, format } = useWords()
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
            value: ({ email }) => email,
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
            value: ({ expires_at: at }) => at,
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

/** Everybody but the last owner may leave. */
function Leave({ members }: { readonly members: readonly Member[] }): ReactNode {
  const { t } = useWords()
  const client = useQueryClient()
  const leave = useAct('POST /cabinet/v1/members/leave', {
    done: () => {
      client.clear()
      // A full load: nothing of this account stays in memory.
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
      <Button variant="default" onClick={ask}>
        {t('people.leave')}
      </Button>
    </div>
  )
}
