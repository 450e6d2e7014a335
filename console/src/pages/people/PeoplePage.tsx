import { ActionIcon, Button, Menu } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Invitation, Member } from '../../../../src/api/cabinet/member-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { confirm } from '../../parts/confirm.tsx'
import { EditIcon, MoreIcon, PlusIcon, TrashIcon } from '../../parts/icons.ts'
import { DataList } from '../../parts/DataList.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { useMay } from '../../parts/may.ts'
import { Moment } from '../../parts/Moment.tsx'
import { Page } from '../../parts/Page.tsx'
import { Section } from '../../parts/Section.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { InviteDialog } from './InviteDialog.tsx'
import { ChangeDialog, RemoveDialog } from './MemberDialogs.tsx'

/** The people of the account, their roles and limits, and the open invitations. */
export function PeoplePage(): ReactNode {
  const { t } = useTranslation()
  const may = useMay()
  const people = useRead('GET /cabinet/v1/members', {})
  const [inviting, setInviting] = useState(false)
  const [changed, setChanged] = useState<Member | null>(null)
  const [removed, setRemoved] = useState<Member | null>(null)
  const rules = may('members:write')
  return (
    <Page
      title={t('nav.people')}
      lead={t('people.lead')}
      actions={
        rules && (
          <Button leftSection={<PlusIcon size={17} />} onClick={() => setInviting(true)}>
            {t('people.invite')}
          </Button>
        )
      }
    >
      <Loaded of={people} height={320}>
        {({ members, invitations }) => (
          <>
            <Members members={members} acts={rules ? { change: setChanged, remove: setRemoved } : null} />
            {invitations.length > 0 && <Invitations invitations={invitations} />}
            <Leave members={members} />
          </>
        )}
      </Loaded>
      <InviteDialog opened={inviting} close={() => setInviting(false)} />
      <ChangeDialog member={changed} close={() => setChanged(null)} />
      <RemoveDialog member={removed} close={() => setRemoved(null)} />
    </Page>
  )
}

interface MemberActs {
  readonly change: (member: Member) => void
  readonly remove: (member: Member) => void
}

function Members({
  members,
  acts,
}: {
  readonly members: readonly Member[]
  readonly acts: MemberActs | null
}): ReactNode {
  const { t } = useTranslation()
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
          cell: ({ email, name, you }) => (
            <div>
              {email}
              {you && ` (${t('people.you')})`}
              {name !== email && <div className={css.small}>{name}</div>}
            </div>
          ),
        },
        {
          id: 'role',
          title: t('people.role'),
          value: ({ role }) => t(`people.${role}`),
          cell: ({ role }) => t(`people.${role}`),
        },
        {
          id: 'keys',
          title: t('nav.keys'),
          value: (member) => member.spent_month,
          cell: (member) => <Spending member={member} />,
        },
        {
          id: 'added',
          title: t('people.added'),
          end: true,
          value: ({ added_at: at }) => at,
          cell: ({ added_at: at }) => <Moment at={at} as="date" />,
        },
        {
          id: 'seen',
          title: t('people.seen'),
          end: true,
          value: ({ last_sign_in_at: at }) => at,
          cell: ({ last_sign_in_at: at }) => (at === null ? t('keys.never') : <Moment at={at} as="ago" />),
        },
        ...(acts === null
          ? []
          : [
              {
                id: t('common.actions'),
                title: '',
                end: true,
                // An owner is changed by nobody else, and the last one stays.
                cell: (member: Member) =>
                  member.role === 'owner' && (!member.you || owners === 1) ? null : (
                    <MemberMenu member={member} acts={acts} />
                  ),
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
  const { t } = useTranslation()
  const format = useFormat()
  if (role === 'billing' && keys === 0) return '–'
  return (
    <div>
      <Link to="/keys" search={{ by: email }}>
        {t('people.keys', { count: keys })}
      </Link>
      <div className={css.small}>
        {limit === null
          ? t('people.no_limit', { spent: format.money(spent) })
          : t('people.limit_of', { spent: format.money(spent), limit: format.money(limit) })}
      </div>
    </div>
  )
}

function MemberMenu({ member, acts }: { readonly member: Member; readonly acts: MemberActs }): ReactNode {
  const { t } = useTranslation()
  return (
    <Menu position="bottom-end" width={190}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={t('people.actions_of', { email: member.email })}>
          <MoreIcon size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<EditIcon size={16} />} onClick={() => acts.change(member)}>
          {t('people.change')}
        </Menu.Item>
        {member.role !== 'owner' && (
          <Menu.Item color="red" leftSection={<TrashIcon size={16} />} onClick={() => acts.remove(member)}>
            {t('people.remove')}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}

function Invitations({ invitations }: { readonly invitations: readonly Invitation[] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
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
        rowId={({ id }) => id}
        empty={{ picture: 'people', title: t('people.none') }}
        columns={[
          {
            id: 'person',
            title: t('people.person'),
            value: ({ email }) => email,
            cell: ({ email, created_by: by }) => (
              <div>
                {email ?? t('people.anyone')}
                <div className={css.small}>{t('people.by', { email: by })}</div>
              </div>
            ),
          },
          {
            id: 'role',
            title: t('people.role'),
            value: ({ role }) => t(`people.${role}`),
            cell: ({ role, monthly_limit: limit }) => (
              <div>
                {t(`people.${role}`)}
                {limit !== null && <div className={css.small}>{format.money(limit)}</div>}
              </div>
            ),
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
            title: '',
            end: true,
            cell: ({ id, email }) => (
              <Button
                size="compact-sm"
                variant="subtle"
                color="red"
                aria-label={t('people.revoke_of', { email: email ?? t('people.anyone') })}
                onClick={() => revoke.mutate({ params: { id } })}
              >
                {t('people.revoke')}
              </Button>
            ),
          },
        ]}
      />
    </Section>
  )
}

/** Everybody but the last owner may leave. */
function Leave({ members }: { readonly members: readonly Member[] }): ReactNode {
  const { t } = useTranslation()
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
  return (
    <div>
      <Button
        variant="default"
        onClick={() =>
          confirm({
            name: 'leave',
            title: t('people.leave_title'),
            text: t('people.leave_text'),
            act: t('people.leave_act'),
            onConfirm: () => leave.mutate({}),
          })
        }
      >
        {t('people.leave')}
      </Button>
    </div>
  )
}
