import { Button, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useDebouncedValue } from '@mantine/hooks'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Account, AccountStatus } from '../../../../src/admin/account-contract.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { Can } from '../../parts/Can.tsx'
import { ChoiceField, SearchField } from '../../parts/ChoiceField.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import { ExternalName } from '../../parts/ExternalName.tsx'
import { List } from '../../parts/List.tsx'
import { Failed, Loaded } from '../../parts/Loaded.tsx'
import { Pager } from '../../parts/Pager.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { AccountState } from './AccountState.tsx'
import { OperatorPage } from './OperatorPage.tsx'

const PAGE_ROWS = 50
const TYPING_MS = 200
const STATUSES: readonly AccountStatus[] = ['active', 'deactivated', 'locked']

/** All accounts of customers. */
export function AccountsPage(): ReactNode {
  const { t } = useTranslation()
  const [text, setText] = useState('')
  const [status, setStatus] = useState<AccountStatus | null>(null)
  const [offset, setOffset] = useState(0)
  const [adding, setAdding] = useState(false)
  const [search] = useDebouncedValue(text, TYPING_MS)
  const accounts = useRead(
    'GET /admin/v1/accounts',
    {
      query: {
        limit: PAGE_ROWS,
        offset,
        ...(search === '' ? {} : { query: search }),
        ...(status === null ? {} : { status }),
      },
    },
    { keep: true },
  )
  const first =
    <Value,>(set: (value: Value) => void) =>
    (value: Value): void => {
      setOffset(0)
      set(value)
    }
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
        <SearchField description={t('accounts.search_hint')} value={text} change={first(setText)} />
        <ChoiceField
          label={t('keys.state')}
          value={status}
          onChange={(value) => first(setStatus)(STATUSES.find((known) => known === value) ?? null)}
          data={STATUSES.map((value) => ({ value, label: t(`accounts.${value}`) }))}
        />
      </div>
      <Loaded of={accounts} height={420}>
        {({ data, total }) => (
          <>
            <AccountList accounts={data} />
            <Pager offset={offset} size={PAGE_ROWS} total={total} go={setOffset} />
          </>
        )}
      </Loaded>
      <Dialog opened={adding} onClose={() => setAdding(false)} title={t('accounts.create')}>
        <AddForm />
      </Dialog>
    </OperatorPage>
  )
}

function AccountList({ accounts }: { readonly accounts: readonly Account[] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <List
      label={t('nav.accounts')}
      rows={accounts}
      rowId={({ id }) => id}
      empty={{ title: t('accounts.none') }}
      columns={[
        {
          id: 'name',
          title: t('keys.name'),
          cell: (account) => (
            <div>
              <Link to="/operator/accounts/$id" params={{ id: account.id }}>
                {account.name === '' ? account.id : account.name}
              </Link>
              <div className={css.mono}>{account.email ?? account.id}</div>
              <ExternalName of={account} />
            </div>
          ),
        },
        { id: 'state', title: t('keys.state'), cell: ({ status }) => <AccountState status={status} /> },
        { id: 'balance', title: t('home.balance'), end: true, cell: ({ balance }) => format.moneyInColumn(balance) },
        {
          id: 'available',
          title: t('money.available'),
          end: true,
          cell: ({ available }) => format.moneyInColumn(available),
        },
        {
          id: 'reserved',
          title: t('money.reserved'),
          end: true,
          cell: ({ reserved }) => format.moneyInColumn(reserved),
        },
        { id: 'created', title: t('accounts.since'), end: true, cell: (account) => format.date(account.created_at) },
      ]}
    />
  )
}

function AddForm(): ReactNode {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const form = useForm({ initialValues: { name: '', email: '' } })
  const create = useAct('POST /admin/v1/accounts', {
    quiet: true,
    renews: ['GET /admin/v1/accounts'],
    done: ({ id }) => void navigate({ to: '/operator/accounts/$id', params: { id } }),
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
