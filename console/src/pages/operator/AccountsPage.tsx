import { TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Account, AccountStatus } from '../../../../src/api/admin/account-contract.ts'
import { typed } from '../../api/endpoint.ts'
import { useRead } from '../../api/hooks.ts'
import { Can, useCan } from '../../parts/Can.tsx'
import { ServerList } from '../../parts/DataList.tsx'
import { AddButton, Dialog } from '../../parts/Dialog.tsx'
import { ExternalName } from '../../parts/ExternalName.tsx'
import { Form, useCall } from '../../parts/Form.tsx'
import { useIsHere } from '../../parts/is-here.ts'
import { useFilters } from '../../parts/list-place.ts'
import { accountAt, onRowLink, rowLink } from '../../parts/row-link.ts'
import { t } from '../../parts/words.ts'
import { OperatorPage } from './OperatorPage.tsx'

export const ACCOUNT_TONES = { active: 'good', locked: 'warn', deactivated: 'bad' } as const
const STATUSES: readonly AccountStatus[] = ['active', 'deactivated', 'locked']

/** All accounts of customers. */
export function AccountsPage() {
  const [adding, setAdding] = useState(false)
  const groups = useRead('GET /admin/v1/account-groups', {}, { enabled: useCan()('GET /admin/v1/account-groups') })
  const groupNames = new Map(groups.data?.data.map(({ id, name }) => [id, name]))
  return (
    <OperatorPage
      title={t('nav.accounts')}
      lead={t('accounts.lead')}
      actions={
        <Can call="POST /admin/v1/accounts">
          <AddButton onClick={() => setAdding(true)}>{t('accounts.create')}</AddButton>
        </Can>
      }
    >
      <AccountList groupNames={groupNames} />
      <Dialog name="account" of={adding} close={() => setAdding(false)} title={t('accounts.create')}>
        <AddForm />
      </Dialog>
    </OperatorPage>
  )
}

function AccountList({ groupNames }: { readonly groupNames: ReadonlyMap<string, string> }) {
  const { filters } = useFilters<'group'>()
  const navigate = useNavigate()
  const open = onRowLink((id) => void navigate(accountAt(id)))
  const ofGroup = {
    name: 'group' as const,
    label: t('accounts.group'),
    data: [...groupNames].map(([value, label]) => ({ value, label })),
    open: true,
  }
  const groupOf = ({ group }: Account): string | null => (group === null ? null : (groupNames.get(group) ?? group))
  return (
    <div style={{ display: 'contents' }} onClick={open}>
      <ServerList
        read="GET /admin/v1/accounts"
        filters={[
          { name: 'query', description: t('accounts.search_hint') },
          {
            name: 'status',
            label: t('keys.state'),
            data: STATUSES.map((value) => ({ value, label: t(`accounts.${value}`) })),
          },
          ...(groupNames.size > 0 || filters.group !== undefined ? [ofGroup] : []),
        ]}
        height={420}
        name="accounts"
        label={t('nav.accounts')}
        empty={{ picture: 'people', title: t('accounts.none') }}
        hiddenAtFirst={['id', 'external', 'reserved', ...(groupNames.size === 0 ? ['group'] : [])]}
        columns={[
          {
            id: 'name',
            title: t('keys.name'),
            ordered: true,
            value: 'name',
            cell: ({ id, name }) => (
              <a href={`/operator/accounts/${id}`} {...rowLink(id)}>
                {name === '' ? id : name}
              </a>
            ),
            under: (account) => <ExternalName of={account} />,
          },
          { id: 'email', title: t('entry.email'), as: 'clip', value: ({ email }) => email },
          { id: 'id', title: t('accounts.id'), as: 'mono', value: ({ id }) => id },
          { id: 'external', title: t('field.external_id'), as: 'mono', value: 'external_id' },
          { id: 'group', title: t('accounts.group'), value: groupOf },
          {
            id: 'state',
            title: t('keys.state'),
            word: ({ status }) => [ACCOUNT_TONES[status], t(`accounts.${status}`)],
          },
          { id: 'balance', title: t('home.balance'), as: 'money', value: ({ balance }) => balance },
          { id: 'available', title: t('money.available'), as: 'money', value: ({ available }) => available },
          { id: 'reserved', title: t('money.reserved'), as: 'money', value: ({ reserved }) => reserved },
          { id: 'created_at', title: t('accounts.since'), as: 'date', ordered: true, value: 'created_at' },
        ]}
      />
    </div>
  )
}

function AddForm() {
  const navigate = useNavigate()
  const isHere = useIsHere()
  const form = useCall('POST /admin/v1/accounts', {
    renews: ['GET /admin/v1/accounts'],
    done: ({ id }) => {
      if (isHere()) void navigate(accountAt(id))
    },
    first: { name: '', email: '' },
    input: ({ name, email }) => ({ body: { name: name.trim(), ...typed({ email }) } }),
  })
  return (
    <Form of={form} form="dialog" act={t('accounts.create')}>
      <TextInput label={t('keys.name')} required data-autofocus {...form.field('name')} />
      <TextInput label={t('entry.email')} description={t('access.email_hint')} type="email" {...form.field('email')} />
    </Form>
  )
}
