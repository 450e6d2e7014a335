import { Alert, Button, Group, Menu, Stack } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { OperatorRole } from '../../../../src/tables/admin-scopes.ts'
import type { ConsoleUser } from '../../../../src/api/admin/account-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Can } from '../../parts/Can.tsx'
import { DataList, PAGE_ROWS } from '../../parts/DataList.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { confirm } from '../../parts/confirm.tsx'
import { CopyBlock } from '../../parts/Copy.tsx'
import { ExternalIdButton, ExternalName } from '../../parts/ExternalName.tsx'
import { MenuItemLink } from '../../parts/MenuItemLink.tsx'
import { fileAddress } from '../../parts/list-csv.ts'
import { sortOf, useListPlace } from '../../parts/list-place.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useRoles } from './tokens/RoleField.tsx'

export interface UserListProps {
  readonly account?: string
  readonly role?: 'user' | 'admin'
  /** The beginning of an e-mail. */
  readonly query?: string
}

/** Who may sign in to the console. */
export function UserList(filter: UserListProps): ReactNode {
  const { sort, offset } = useListPlace()
  const query = { ...filter, ...sortOf(['created_at', 'email'], sort) }
  const [link, setLink] = useState<{ readonly email: string; readonly link: string } | null>(null)
  const users = useRead('GET /admin/v1/users', { query: { ...query, limit: PAGE_ROWS, offset } }, { keep: true })
  return (
    <>
      <Loaded of={users} height={300}>
        {({ data, total }) => (
          <Rows users={data} total={total} showLink={setLink} file={fileAddress('GET /admin/v1/users', { query })} />
        )}
      </Loaded>
      <LinkShown shown={link} close={() => setLink(null)} />
    </>
  )
}

/** A one-time link to hand over to its user. */
export function LinkShown({
  shown,
  close,
}: {
  readonly shown: { readonly email: string; readonly link: string } | null
  readonly close: () => void
}): ReactNode {
  const { t } = useTranslation()
  return (
    <Dialog
      name="user-link"
      opened={shown !== null}
      onClose={close}
      title={t('users.link', { email: shown?.email ?? '' })}
      size="lg"
    >
      {shown !== null && (
        <Stack>
          <Alert color="yellow">{t('users.link_text')}</Alert>
          <CopyBlock text={shown.link} label={t('users.link', { email: shown.email })} />
        </Stack>
      )}
    </Dialog>
  )
}

function Person({ user }: { readonly user: ConsoleUser }): ReactNode {
  return (
    <div>
      {user.email}
      <ExternalName of={user} />
    </div>
  )
}

interface RowsProps {
  readonly users: readonly ConsoleUser[]
  readonly total: number
  readonly showLink: (link: { readonly email: string; readonly link: string }) => void
  readonly file: string
}

function Rows({ users, total, showLink, file }: RowsProps): ReactNode {
  const { t } = useTranslation()
  const roleOf = ({ role, operator_role: own }: ConsoleUser): string =>
    own === null ? t(`settings.role_${role}`) : t(`role.${own}`)
  return (
    <DataList
      name="users"
      label={t('nav.users')}
      rows={users}
      page={{ total }}
      file={file}
      rowId={({ id }) => id}
      empty={{ picture: 'people', title: t('users.none') }}
      columns={[
        {
          id: 'email',
          title: t('entry.email'),
          ordered: true,
          value: ({ email }) => email,
          cell: (user) => <Person user={user} />,
        },
        { id: 'role', title: t('settings.role'), value: roleOf, cell: roleOf },
        {
          id: 'state',
          title: t('keys.state'),
          value: ({ disabled }) => t(disabled ? 'keys.disabled' : 'keys.active'),
          cell: ({ disabled }) => (
            <StatusBadge tone={disabled ? 'bad' : 'good'}>
              {disabled ? t('keys.disabled') : t('keys.active')}
            </StatusBadge>
          ),
        },
        {
          id: 'totp',
          title: t('security.totp'),
          value: ({ totp }) => totp,
          cell: (user) => (
            <StatusBadge tone={user.totp ? 'good' : 'quiet'}>
              {user.totp ? t('security.on') : t('security.off')}
            </StatusBadge>
          ),
        },
        {
          id: 'oidc',
          title: t('security.oidc'),
          value: ({ identities }) => identities.map(({ email, subject }) => email ?? subject).join(', '),
          cell: ({ identities }) =>
            identities.map(({ id, email, subject, issuer }) => (
              <span key={id} title={issuer}>
                {email ?? subject}
              </span>
            )),
        },
        {
          id: 'seen',
          title: t('users.last_sign_in'),
          end: true,
          value: (user) => user.last_sign_in_at,
          cell: ({ last_sign_in_at: at }) => (at === null ? t('keys.never') : <Moment at={at} as="ago" />),
        },
        {
          id: 'created_at',
          title: t('accounts.since'),
          end: true,
          ordered: true,
          value: (user) => user.created_at,
          cell: (user) => <Moment at={user.created_at} as="date" />,
        },
        {
          id: 'actions',
          title: '',
          end: true,
          cell: (user) => (
            <Can call="PATCH /admin/v1/users/:id">
              <UserMenu user={user} showLink={showLink} />
            </Can>
          ),
        },
      ]}
    />
  )
}

function UserMenu({
  user,
  showLink,
}: {
  readonly user: ConsoleUser
  readonly showLink: (link: { readonly email: string; readonly link: string }) => void
}): ReactNode {
  const { t } = useTranslation()
  const params = { id: user.id }
  const change = useAct('PATCH /admin/v1/users/:id', { renews: ['GET /admin/v1/users'], said: t('common.saved') })
  const link = useAct('POST /admin/v1/users/:id/password-link', { done: showLink })
  const unlink = useAct('DELETE /admin/v1/users/:id/identities/:identity', {
    renews: ['GET /admin/v1/users'],
    said: t('users.unlinked'),
  })
  const askUnlink = ({ id, email, subject, issuer }: ConsoleUser['identities'][number]): void =>
    confirm({
      name: 'user-unlink',
      title: t('users.ask_unlink', { email: user.email }),
      text: t('users.ask_unlink_text', { who: email ?? subject, issuer }),
      act: t('users.do_unlink'),
      onConfirm: () => unlink.mutate({ params: { ...params, identity: id } }),
    })
  return (
    <Group gap={4} justify="flex-end">
      <ExternalIdButton change="PATCH /admin/v1/users/:id" of={user} name={user.email} />
      <Menu position="bottom-end">
        <Menu.Target>
          <Button size="compact-sm" variant="subtle" aria-label={t('keys.actions_of', { name: user.email })}>
            {t('common.actions')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {user.account !== null && (
            <MenuItemLink to="/operator/accounts/$id" params={{ id: user.account }}>
              {t('users.account')}
            </MenuItemLink>
          )}
          <Menu.Item onClick={() => link.mutate({ params, body: {} })}>{t('users.password_link')}</Menu.Item>
          {user.totp && (
            <Menu.Item onClick={() => link.mutate({ params, body: { clear_totp: true } })}>
              {t('users.password_link_totp')}
            </Menu.Item>
          )}
          {user.has_password &&
            user.identities.map((identity) => (
              <Menu.Item key={identity.id} onClick={() => askUnlink(identity)}>
                {t('users.unlink', { who: identity.email ?? identity.subject })}
              </Menu.Item>
            ))}
          <RoleItems user={user} />
          <Menu.Divider />
          <Menu.Item
            {...(user.disabled ? {} : { color: 'red' })}
            onClick={() => change.mutate({ params, body: { disabled: !user.disabled } })}
          >
            {user.disabled ? t('keys.enable') : t('keys.disable')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  )
}

/** The roles that the signed-in operator may give to a user. */
function RoleItems({ user }: { readonly user: ConsoleUser }): ReactNode {
  const { t } = useTranslation()
  const params = { id: user.id }
  const roles = useRoles()
  const change = useAct('PATCH /admin/v1/users/:id', { renews: ['GET /admin/v1/users'], said: t('common.saved') })
  const ask = (title: string, body: Readonly<{ role: 'user' } | { operator_role: OperatorRole }>): void =>
    confirm({
      name: 'user-role',
      title,
      text: t('users.ask_role_text'),
      act: t('users.do_role'),
      onConfirm: () => change.mutate({ params, body }),
    })
  return (
    <>
      <Menu.Divider />
      <Menu.Label>{t('settings.role')}</Menu.Label>
      {roles
        .filter((role) => role !== user.operator_role)
        .map((role) => (
          <Menu.Item
            key={role}
            onClick={() =>
              ask(t('users.ask_role', { email: user.email, role: t(`role.${role}`) }), { operator_role: role })
            }
          >
            {t('users.make', { role: t(`role.${role}`) })}
          </Menu.Item>
        ))}
      {user.role === 'admin' && (
        <Menu.Item onClick={() => ask(t('users.ask_user', { email: user.email }), { role: 'user' })}>
          {t('users.make_user')}
        </Menu.Item>
      )}
    </>
  )
}
