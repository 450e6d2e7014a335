import '@mantine/core/styles/Radio.css'
import { Checkbox, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Account } from '../../../../src/api/admin/account-contract.ts'
import type { Invitation, Member } from '../../../../src/api/cabinet/member-contract.ts'
import type { MemberRole } from '../../../../src/api/cabinet/session-contract.ts'
import { MEMBER_ROLES } from '../../../../src/tables/scopes.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Moment, Press } from '../../parts/cells.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { AddButton, Dialog, Secret } from '../../parts/Dialog.tsx'
import { type Fields, Form, useCall } from '../../parts/Form.tsx'
import { EditIcon, SecurityIcon, TrashIcon } from '../../parts/icons.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { numberOf } from '../../parts/number-text.ts'
import { NumberField } from '../../parts/NumberField.tsx'
import { Page, Section } from '../../parts/Page.tsx'
import { PROOF_NAMES, proofBody, ProofField, useProofKind } from '../../parts/proof.tsx'
import { accountAt } from '../../parts/row-link.ts'
import { RowMenu } from '../../parts/RowMenu.tsx'
import { format, t } from '../../parts/words.ts'
import { useMay, useSession } from '../../session.tsx'

/**
 * The endpoints for the people of the own account, and of another one for the operator. They differ only in their
 * paths.
 */
function routesOf(account: Account | undefined) {
  const [root, one, renews] =
    account === undefined
      ? (['/cabinet/v1', ':id', 'GET /cabinet/v1/members'] as const)
      : (['/admin/v1/accounts/:id', ':member', 'GET /admin/v1/accounts/:id/members'] as const)
  const of = account === undefined ? {} : { params: { id: account.id } }
  return {
    of,
    renews,
    // Both routes have the same input and answer.
    list: `GET ${root}/members` as 'GET /cabinet/v1/members',
    change: `PATCH ${root}/members/${one}` as 'PATCH /cabinet/v1/members/:id',
    remove: `POST ${root}/members/${one}/remove` as 'POST /cabinet/v1/members/:id/remove',
    invite: `POST ${root}/invitations` as 'POST /cabinet/v1/invitations',
    revoke: `DELETE ${root}/invitations/${one}` as 'DELETE /cabinet/v1/invitations/:id',
    ofOne: (id: string) => ({ params: account === undefined ? { id } : { id: account.id, member: id } }),
  }
}

/** The account on the operator's page; absent = the own account. */
interface Of {
  readonly account?: Account | undefined
}

/** The dialog that is open over the list of people. */
type Opened = { readonly dialog: 'invite' } | { readonly dialog: 'change' | 'remove'; readonly member: Member }

/** The people of the account, their roles and limits, and the open invitations. */
export function PeoplePage() {
  return <People frame={Page} lead={t('people.lead')} rules={useMay()('members:write')} />
}

interface PeopleProps extends Of {
  readonly frame: typeof Page | typeof Section
  readonly lead: string
  /** Whether the reader may change people. */
  readonly rules: boolean
}

export function People({ account, frame: Frame, lead, rules }: PeopleProps) {
  const routes = routesOf(account)
  const people = useRead(routes.list, routes.of)
  const [opened, open] = useState<Opened | null>(null)
  const close = (): void => open(null)
  const shown = (dialog: 'change' | 'remove'): Member | null => (opened?.dialog === dialog ? opened.member : null)
  const [changed, removed] = [shown('change'), shown('remove')]
  return (
    <Frame
      title={t('nav.people')}
      lead={lead}
      actions={rules && <AddButton onClick={() => open({ dialog: 'invite' })}>{t('people.invite')}</AddButton>}
    >
      <Loaded of={people} height={320}>
        {({ members, invitations }) => (
          <>
            <Members
              members={members}
              open={rules ? open : null}
              account={account}
              isInvited={invitations.length > 0}
            />
            {invitations.length > 0 && <Invitations invitations={invitations} account={account} rules={rules} />}
            {account === undefined && <Leave members={members} />}
          </>
        )}
      </Loaded>
      <InviteDialog
        opened={opened?.dialog === 'invite'}
        close={close}
        account={account}
        isFirst={people.data?.members.length === 0}
      />
      <Dialog name="member" of={changed} close={close} title={t('people.change_of', { email: changed?.email ?? '' })}>
        {(member) => <ChangeForm member={member} close={close} account={account} />}
      </Dialog>
      <Dialog
        name="member-remove"
        of={removed}
        close={close}
        title={t('people.remove_title', { email: removed?.email ?? '' })}
      >
        {(member) => <RemoveForm member={member} close={close} account={account} />}
      </Dialog>
    </Frame>
  )
}

interface MembersProps extends Of {
  readonly members: readonly Member[]
  readonly isInvited: boolean
  /** null = the reader may not change people. */
  readonly open: ((opened: Opened) => void) | null
}

function Members({ members, open, account, isInvited }: MembersProps) {
  const owners = members.filter(({ role }) => role === 'owner').length
  // Nobody else can change an owner but the operator, and the last owner cannot be changed.
  const isFixed = ({ role, you }: Member): boolean =>
    role === 'owner' && (owners < 2 || (!you && account === undefined))
  return (
    <DataList
      name="people"
      label={t('nav.people')}
      rows={members}
      rowId={({ user }) => user}
      empty={{ picture: 'people', ...emptyOf(account, isInvited) }}
      columns={[
        {
          id: 'person',
          title: t('people.person'),
          value: 'email',
          cell: ({ email, you }) => (you ? `${email} (${t('people.you')})` : email),
          under: ({ name, email }) => name !== email && name,
        },
        { id: 'role', title: t('people.role'), value: ({ role }) => t(`people.${role}`) },
        {
          id: 'keys',
          title: t('nav.keys'),
          value: 'spent_month',
          cell: (member) => <Spending member={member} account={account} />,
        },
        { id: 'added', title: t('people.added'), as: 'date', value: 'added_at' },
        { id: 'seen', title: t('people.seen'), as: 'ago', value: 'last_sign_in_at' },
        {
          id: t('common.actions'),
          end: true,
          cell: (member) =>
            open !== null &&
            (!isFixed(member) || account !== undefined) && (
              <MemberMenu member={member} open={open} account={account} isFixed={isFixed(member)} />
            ),
        },
      ]}
    />
  )
}

/** Why the list is empty: only an account that the operator has made can have nobody. */
function emptyOf(account: Account | undefined, isInvited: boolean): { readonly title: string; readonly text?: string } {
  if (account === undefined) return { title: t('people.none') }
  const { email } = account
  if (isInvited) return { title: t('access.none'), text: t('access.none_joined') }
  return { title: t('access.none'), text: email === null ? t('access.none_text') : t('access.none_yet', { email }) }
}

interface OfMember extends Of {
  readonly member: Member
}

function Spending({ member, account }: OfMember) {
  const { email, role, keys, spent_month: spent, monthly_limit: limit } = member
  if (role === 'billing' && keys === 0) return '–'
  const place = account === undefined ? { to: '/keys', search: { by: email } } : accountAt(account.id, 'keys')
  return (
    <div>
      <Link {...place}>{t('people.keys', { count: keys })}</Link>
      <div className="small">
        {limit === null
          ? t('people.no_limit', { spent: format.money(spent) })
          : t('people.limit_of', { spent: format.money(spent), limit: format.money(limit) })}
      </div>
    </div>
  )
}

interface MemberMenuProps extends OfMember {
  readonly open: (opened: Opened) => void
  /** Neither the role can be changed, nor the person removed. */
  readonly isFixed: boolean
}

function MemberMenu({ member, open, account, isFixed }: MemberMenuProps) {
  return (
    <RowMenu
      label={t('people.actions_of', { email: member.email })}
      entries={[
        !isFixed && {
          label: t('people.change'),
          icon: <EditIcon size={16} />,
          act: () => open({ dialog: 'change', member }),
        },
        account !== undefined && {
          label: t('access.sign_in'),
          icon: <SecurityIcon size={16} />,
          to: { to: '/operator/users', search: { query: member.email } },
        },
        !isFixed &&
          (member.role !== 'owner' || account !== undefined) && {
            label: t('people.remove'),
            icon: <TrashIcon size={16} />,
            harmful: true,
            act: () => open({ dialog: 'remove', member }),
          },
      ]}
    />
  )
}

interface InvitationsProps extends Of, Pick<PeopleProps, 'rules'> {
  readonly invitations: readonly Invitation[]
}

function Invitations({ invitations, account, rules }: InvitationsProps) {
  const routes = routesOf(account)
  const revoke = useAct(routes.revoke, { renews: [routes.renews], said: t('people.revoked') })
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
            under: ({ created_by: by }) =>
              by === 'operator' ? t('people.by_operator') : t('people.by', { email: by }),
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
              rules && {
                label: t('people.revoke'),
                name: t('people.revoke_of', { email: email ?? t('people.anyone') }),
                harmful: true,
                run: () =>
                  revoke.ask({
                    name: 'invitation-revoke',
                    title: t('people.ask_revoke', { email: email ?? t('people.anyone') }),
                    text: t('people.ask_revoke_text'),
                    act: t('people.revoke'),
                    input: routes.ofOne(id),
                  }),
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
    leave.ask({
      name: 'leave',
      title: t('people.leave_title'),
      text: t('people.leave_text'),
      act: t('people.leave_act'),
      input: {},
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

interface InvitedTo extends Of {
  /** Nobody is in the account yet. */
  readonly isFirst: boolean
}

/** A dialog for an invitation: a role, then the link, which is shown only this time. */
function InviteDialog({ opened, close, ...of }: InvitedTo & { readonly opened: boolean; readonly close: () => void }) {
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
        <InviteForm done={setMade} {...of} />
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

function InviteForm({ done, account, isFirst }: InvitedTo & { readonly done: (made: Made) => void }) {
  const proof = useProofKind()
  const routes = routesOf(account)
  const first: RoleValues & { email: string } = {
    email: (isFirst ? account?.email : null) ?? '',
    role: isFirst ? 'owner' : 'member',
    monthly_limit: '',
    proof: '',
  }
  const form = useCall(routes.invite, {
    renews: [routes.renews],
    done: ({ link, mailed, email: address }) => done({ link, mailedTo: mailed ? address : null }),
    first,
    names: PROOF_NAMES,
    input: ({ email, proof: proven, ...choice }) => ({
      ...routes.of,
      body: {
        role: choice.role,
        email: email.trim() === '' ? null : email.trim(),
        monthly_limit: limitOf({ ...choice, proof: proven }),
        ...(choice.role === 'owner' && account === undefined ? proofBody(proof, proven) : {}),
      },
    }),
  })
  const { set_up: ways } = useSession().service
  return (
    <Form of={form} form="dialog" act={t('people.make_link')}>
      <TextInput
        label={t('entry.email')}
        description={t(ways.includes('email') ? 'people.email_mailed' : 'people.email_hint')}
        type="email"
        data-autofocus
        {...form.field('email')}
      />
      <RoleFields form={form as unknown as Fields<RoleValues>} />
      {form.values.role === 'owner' && account === undefined && <ProofField kind={proof} {...form.field('proof')} />}
    </Form>
  )
}

/** A dialog for another role or limit of a person. */
function ChangeForm({ member, close, account }: OfMember & { readonly close: () => void }) {
  const proof = useProofKind()
  const routes = routesOf(account)
  // The server asks an operator for the proof if their sign-in is too long ago.
  const isNewOwner = ({ role }: RoleValues): boolean =>
    role === 'owner' && member.role !== 'owner' && account === undefined
  const { role, monthly_limit: limit } = member
  const first: RoleValues = { role, monthly_limit: limit === null ? '' : String(limit), proof: '' }
  const form = useCall(routes.change, {
    renews: [routes.renews, 'GET /cabinet/v1/session'],
    said: t('common.saved'),
    done: close,
    first,
    names: PROOF_NAMES,
    input: (values) => ({
      ...routes.ofOne(member.user),
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
function RemoveForm({ member, close, account }: OfMember & { readonly close: () => void }) {
  const routes = routesOf(account)
  const form = useCall(routes.remove, {
    renews: [routes.renews, 'GET /cabinet/v1/keys', 'GET /admin/v1/accounts/:id/keys', 'GET /cabinet/v1/summary'],
    said: t('people.removed'),
    done: close,
    first: { disable_keys: true },
    input: (body) => ({ ...routes.ofOne(member.user), body }),
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
