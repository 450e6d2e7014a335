import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ConsoleUser } from '../../../../src/api/admin/account-contract.ts'
import type { OperatorRole } from '../../../../src/tables/scopes.ts'
import { switchedBack, useAct } from '../../api/hooks.ts'
import { Can, useCan } from '../../parts/Can.tsx'
import { ServerList } from '../../parts/DataList.tsx'
import { confirm, Dialog, Secret } from '../../parts/Dialog.tsx'
import { ExternalIdButton, ExternalName } from '../../parts/ExternalName.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { Section } from '../../parts/Page.tsx'
import { type MenuEntry, RowMenu } from '../../parts/RowMenu.tsx'
import { t } from '../../parts/words.ts'
import { OperatorPage } from './OperatorPage.tsx'
import { RoleField, useRoles } from './tokens/ScopeNames.tsx'
import { accountAt } from '../../parts/row-link.ts'

const ROLES = ['admin', 'user'] as const

/** Everybody who may sign in, and the invitation of new administrators. */
export function UsersPage() {
  return (
    <OperatorPage title={t('nav.users')} lead={t('users.lead')}>
      <Can call="POST /admin/v1/administrators">
        <Section boxed title={t('users.invite')} lead={t('users.invite_lead')}>
          <InviteForm />
        </Section>
      </Can>
      <UserList />
    </OperatorPage>
  )
}

function InviteForm() {
  const [link, setLink] = useState<{ readonly email: string; readonly link: string } | null>(null)
  const roles = useRoles()
  const first: { email: string; role: OperatorRole } = { email: '', role: roles.at(-1) ?? 'read_only' }
  const form = useCall('POST /admin/v1/administrators', {
    renews: ['GET /admin/v1/users'],
    done: (answer, reset) => {
      reset()
      setLink(answer)
    },
    first,
    input: (body) => ({ body }),
  })
  return (
    <>
      <Form of={form} form="row" act={t('users.invite_button')}>
        <TextInput label={t('entry.email')} type="email" required {...form.field('email')} />
        <RoleField value={form.values.role} change={(role) => form.set({ role })} />
      </Form>
      <div className="small">{t(`role.${form.values.role}_text`)}</div>
      <LinkShown shown={link} close={() => setLink(null)} />
    </>
  )
}

interface UserLink {
  readonly email: string
  readonly link: string
}

/** Who may sign in to the console. */
function UserList() {
  const can = useCan()
  const [link, setLink] = useState<UserLink | null>(null)
  return (
    <>
      <ServerList
        read="GET /admin/v1/users"
        filters={[
          { name: 'query', description: t('accounts.search_hint') },
          {
            name: 'role',
            label: t('settings.role'),
            data: ROLES.map((value) => ({ value, label: t(`settings.role_${value}`) })),
          },
        ]}
        height={300}
        name="users"
        label={t('nav.users')}
        empty={{ picture: 'people', title: t('users.none') }}
        columns={[
          {
            id: 'email',
            title: t('entry.email'),
            ordered: true,
            value: 'email',
            under: (user) => <ExternalName of={user} />,
          },
          {
            id: 'role',
            title: t('settings.role'),
            value: ({ role, operator_role: own }) => (own === null ? t(`settings.role_${role}`) : t(`role.${own}`)),
          },
          {
            id: 'state',
            title: t('keys.state'),
            word: ({ disabled }) => (disabled ? ['bad', t('keys.disabled')] : ['good', t('keys.active')]),
          },
          {
            id: 'totp',
            title: t('security.totp'),
            word: ({ totp }) => (totp ? ['good', t('security.on')] : ['quiet', t('security.off')]),
          },
          {
            id: 'oidc',
            title: t('security.oidc'),
            value: ({ identities }) => identities.map(({ email, subject }) => email ?? subject).join(', '),
            hint: ({ identities }) => identities.map(({ issuer }) => issuer).join(', ') || undefined,
          },
          { id: 'seen', title: t('users.last_sign_in'), as: 'ago', value: 'last_sign_in_at' },
          { id: 'created_at', title: t('accounts.since'), as: 'date', ordered: true, value: 'created_at' },
          {
            id: 'actions',
            acts: (user) => [
              <ExternalIdButton key="name" change="PATCH /admin/v1/users/:id" of={user} name={user.email} />,
              can('PATCH /admin/v1/users/:id') && <UserMenu key="menu" user={user} showLink={setLink} />,
            ],
          },
        ]}
      />
      <LinkShown shown={link} close={() => setLink(null)} />
    </>
  )
}

/** A one-time link for the operator to pass on to its user. */
function LinkShown({ shown, close }: { readonly shown: UserLink | null; readonly close: () => void }) {
  const title = t('users.link', { email: shown?.email ?? '' })
  return (
    <Dialog name="user-link" of={shown} close={close} title={title} size="lg">
      {({ link }) => <Secret text={link} label={title} warning={t('users.link_text')} />}
    </Dialog>
  )
}

type RoleBody = Readonly<{ role: 'user' } | { operator_role: OperatorRole }>

function UserMenu({ user, showLink }: { readonly user: ConsoleUser; readonly showLink: (link: UserLink) => void }) {
  const { id, email, account } = user
  const params = { id }
  const renews = ['GET /admin/v1/users'] as const
  const roles = useRoles().filter((role) => role !== user.operator_role)
  const change = useAct('PATCH /admin/v1/users/:id', { renews, said: t('common.saved'), undo: switchedBack })
  const link = useAct('POST /admin/v1/users/:id/password-link', { done: showLink })
  const unlink = useAct('DELETE /admin/v1/users/:id/identities/:identity', { renews, said: t('users.unlinked') })
  const askUnlink = (identity: ConsoleUser['identities'][number]): void =>
    unlink.ask({
      name: 'user-unlink',
      title: t('users.ask_unlink', { email }),
      text: t('users.ask_unlink_text', { who: identity.email ?? identity.subject, issuer: identity.issuer }),
      act: t('users.do_unlink'),
      input: { params: { id, identity: identity.id } },
    })
  const askRole = (title: string, body: RoleBody): void =>
    confirm({
      name: 'user-role',
      title,
      text: t('users.ask_role_text'),
      act: t('users.do_role'),
      onConfirm: () => change.mutate({ params, body }),
    })
  const roleEntry = (operator_role: OperatorRole): MenuEntry => {
    const role = t(`role.${operator_role}`)
    const title = t('users.ask_role', { email, role })
    return { label: t('users.make', { role }), act: () => askRole(title, { operator_role }) }
  }
  return (
    <RowMenu
      label={t('keys.actions_of', { name: email })}
      button={
        <Button size="compact-sm" variant="subtle" aria-label={t('keys.actions_of', { name: email })}>
          {t('common.actions')}
        </Button>
      }
      entries={[
        account !== null && { label: t('users.account'), to: accountAt(account) },
        { label: t('users.password_link'), act: () => link.mutate({ params, body: {} }) },
        user.totp && {
          label: t('users.password_link_totp'),
          act: () => link.mutate({ params, body: { clear_totp: true } }),
        },
        ...(user.has_password ? user.identities : []).map((identity) => ({
          label: t('users.unlink', { who: identity.email ?? identity.subject }),
          act: () => askUnlink(identity),
        })),
        'line',
        { heading: t('settings.role') },
        ...roles.map(roleEntry),
        user.role === 'admin' && {
          label: t('users.make_user'),
          act: () => askRole(t('users.ask_user', { email }), { role: 'user' }),
        },
        'line',
        {
          label: user.disabled ? t('keys.enable') : t('keys.disable'),
          harmful: !user.disabled,
          act: () => change.mutate({ params, body: { disabled: !user.disabled } }),
        },
      ]}
    />
  )
}
