import { Button, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Account, AccountStatus } from '../../../../src/api/admin/account-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { useListRead, type Search } from '../../parts/ask-ahead.ts'
import { useIsHere } from '../../parts/is-here.ts'
import { Can, useCan } from '../../parts/Can.tsx'
import { ChoiceField, SearchField, withChosen } from '../../parts/ChoiceField.tsx'
import { Clip } from '../../parts/Clip.tsx'
import { DataList, PAGE_ROWS } from '../../parts/DataList.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import { ExternalName } from '../../parts/ExternalName.tsx'
import { fileAddress } from '../../parts/list-csv.ts'
import { placeOf, sortOf, useFilters, useTyped } from '../../parts/list-place.ts'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { Moment } from '../../parts/Moment.tsx'
import { onRowLink, rowLink } from '../../parts/row-link.ts'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { AccountState } from './AccountState.tsx'
import { OperatorPage } from './OperatorPage.tsx'

const STATUSES: readonly AccountStatus[] = ['active', 'deactivated', 'locked']

/** All accounts of customers. */
export function AccountsPage(): ReactNode {
  const { t } = useTranslation()
  const { filters, filter } = useFilters<'query' | 'status' | 'group'>()
  const [adding, setAdding] = useState(false)
  const [text, setText] = useTyped(filters.query ?? '', (value) => filter('query', value))
  const groups = useRead('GET /admin/v1/account-groups', {}, { enabled: useCan()('GET /admin/v1/account-groups') })
  const accounts = useListRead('GET /admin/v1/accounts', (search) => ({
    query: { ...queryOf(search), limit: PAGE_ROWS, offset: placeOf(search).offset },
  }))
  const groupNames = new Map(groups.data?.data.map(({ id, name }) => [id, name]))
  return (
    <OperatorPage
      title={t('nav.accounts')}
      lead={t('accounts.lead')}
      actions={
        <Can call="POST /admin/v1/accounts">
          <Button leftSection={<PlusIcon size={17} />} onClick={() => setAdding(true)}>
            {t('accounts.create')}
          </Button>
        </Can>
      }
    >
      <div className={css.fields}>
        <SearchField description={t('accounts.search_hint')} value={text} change={setText} />
        <ChoiceField
          label={t('keys.state')}
          value={statusOf(filters) ?? null}
          onChange={(value) => filter('status', value)}
          data={STATUSES.map((value) => ({ value, label: t(`accounts.${value}`) }))}
        />
        {(groupNames.size > 0 || filters.group !== undefined) && (
          <ChoiceField
            label={t('accounts.group')}
            value={filters.group ?? null}
            onChange={(value) => filter('group', value)}
            data={withChosen(
              [...groupNames].map(([value, label]) => ({ value, label })),
              filters.group,
            )}
            searchable
          />
        )}
      </div>
      <Loaded of={accounts} height={420}>
        {({ data, total }) => (
          <AccountList
            accounts={data}
            total={total}
            groupNames={groupNames}
            file={fileAddress('GET /admin/v1/accounts', { query: queryOf(filters) })}
          />
        )}
      </Loaded>
      <Dialog name="account" opened={adding} onClose={() => setAdding(false)} title={t('accounts.create')}>
        <AddForm />
      </Dialog>
    </OperatorPage>
  )
}

function statusOf({ status }: Search): AccountStatus | undefined {
  return STATUSES.find((known) => known === status)
}

function queryOf(search: Search) {
  const { query, group } = search
  const status = statusOf(search)
  return {
    ...(query === undefined ? {} : { query }),
    ...(status === undefined ? {} : { status }),
    ...(group === undefined ? {} : { group }),
    ...sortOf(['created_at', 'name'], placeOf(search).sort),
  }
}

interface AccountListProps {
  readonly accounts: readonly Account[]
  readonly total: number
  readonly groupNames: ReadonlyMap<string, string>
  readonly file: string
}

function AccountList({ accounts, total, groupNames, file }: AccountListProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const navigate = useNavigate()
  const open = onRowLink((id) => void navigate({ to: '/operator/accounts/$id', params: { id } }))
  const groupOf = ({ group }: Account): string | null => (group === null ? null : (groupNames.get(group) ?? group))
  return (
    <div onClick={open}>
      <DataList
        name="accounts"
        label={t('nav.accounts')}
        rows={accounts}
        page={{ total }}
        file={file}
        rowId={({ id }) => id}
        empty={{ picture: 'people', title: t('accounts.none') }}
        hiddenAtFirst={['id', 'external', 'reserved', ...(groupNames.size === 0 ? ['group'] : [])]}
        columns={[
          {
            id: 'name',
            title: t('keys.name'),
            ordered: true,
            value: ({ name }) => name,
            cell: (account) => (
              <div>
                <a href={`/operator/accounts/${account.id}`} {...rowLink(account.id)}>
                  {account.name === '' ? account.id : account.name}
                </a>
                <ExternalName of={account} />
              </div>
            ),
          },
          {
            id: 'email',
            title: t('entry.email'),
            value: ({ email }) => email,
            cell: ({ email }) => email !== null && <Clip text={email} />,
          },
          { id: 'id', title: t('accounts.id'), value: ({ id }) => id, cell: ({ id }) => <Clip text={id} mono /> },
          {
            id: 'external',
            title: t('field.external_id'),
            value: ({ external_id: id }) => id,
            cell: ({ external_id: id }) => id !== null && <Clip text={id} mono />,
          },
          { id: 'group', title: t('accounts.group'), value: groupOf, cell: groupOf },
          {
            id: 'state',
            title: t('keys.state'),
            value: ({ status }) => t(`accounts.${status}`),
            cell: ({ status }) => <AccountState status={status} />,
          },
          {
            id: 'balance',
            title: t('home.balance'),
            end: true,
            value: ({ balance }) => balance,
            cell: ({ balance }) => format.moneyInColumn(balance),
          },
          {
            id: 'available',
            title: t('money.available'),
            end: true,
            value: ({ available }) => available,
            cell: ({ available }) => format.moneyInColumn(available),
          },
          {
            id: 'reserved',
            title: t('money.reserved'),
            end: true,
            value: ({ reserved }) => reserved,
            cell: ({ reserved }) => format.moneyInColumn(reserved),
          },
          {
            id: 'created_at',
            title: t('accounts.since'),
            end: true,
            ordered: true,
            value: (account) => account.created_at,
            cell: (account) => <Moment at={account.created_at} as="date" />,
          },
        ]}
      />
    </div>
  )
}

function AddForm(): ReactNode {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const isHere = useIsHere()
  const form = useForm({ initialValues: { name: '', email: '' } })
  const create = useAct('POST /admin/v1/accounts', {
    quiet: true,
    renews: ['GET /admin/v1/accounts'],
    done: ({ id }) => {
      if (isHere()) void navigate({ to: '/operator/accounts/$id', params: { id } })
    },
  })
  return (
    <form
      onSubmit={form.onSubmit(({ name, email }) =>
        create.mutate({ body: { name: name.trim(), ...(email.trim() === '' ? {} : { email: email.trim() }) } }),
      )}
    >
      <Stack>
        {create.isError && <Failed failure={create.error} />}
        <TextInput label={t('keys.name')} required maxLength={200} data-autofocus {...form.getInputProps('name')} />
        <TextInput label={t('entry.email')} type="email" {...form.getInputProps('email')} />
        <Button type="submit" loading={create.isPending}>
          {t('accounts.create')}
        </Button>
      </Stack>
    </form>
  )
}
