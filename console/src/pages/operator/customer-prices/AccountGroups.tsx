import { Button, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { AccountGroup } from '../../../../../src/api/admin/group-contract.ts'
import { useAct, useRead } from '../../../api/hooks.ts'
import { Can, useCan } from '../../../parts/Can.tsx'
import { confirm } from '../../../parts/confirm.tsx'
import { Dialog } from '../../../parts/Dialog.tsx'
import { ExternalIdField, externalIdOf, ExternalName } from '../../../parts/ExternalName.tsx'
import { PlusIcon } from '../../../parts/icons.ts'
import { DataList } from '../../../parts/DataList.tsx'
import { Failed, Loaded } from '../../../parts/Loaded.tsx'
import { Section } from '../../../parts/Section.tsx'
import css from '../../../style/layout.module.css'
import { CustomerMarkupField } from './CustomerMarkupField.tsx'
import { useMarkupText } from './markup-text.ts'

const RENEWS = ['GET /admin/v1/account-groups', 'GET /admin/v1/customer-prices'] as const

/** Groups of accounts, each with its markup. */
export function AccountGroups(): ReactNode {
  const { t } = useTranslation()
  const groups = useRead('GET /admin/v1/account-groups', {})
  const [edited, setEdited] = useState<AccountGroup | 'new' | null>(null)
  const close = (): void => setEdited(null)
  return (
    <Section
      title={t('customers.groups')}
      lead={t('customers.groups_lead')}
      actions={
        <Can call="POST /admin/v1/account-groups">
          <Button variant="default" leftSection={<PlusIcon size={17} />} onClick={() => setEdited('new')}>
            {t('customers.add_group')}
          </Button>
        </Can>
      }
    >
      <Loaded of={groups} height={120}>
        {({ data }) => <Rows groups={data} edit={setEdited} />}
      </Loaded>
      <Dialog
        name="group"
        opened={edited !== null}
        onClose={close}
        title={edited === null || edited === 'new' ? t('customers.add_group') : edited.name}
      >
        {edited !== null && <GroupForm group={edited === 'new' ? null : edited} done={close} />}
      </Dialog>
    </Section>
  )
}

interface RowsProps {
  readonly groups: readonly AccountGroup[]
  readonly edit: (group: AccountGroup) => void
}

function Rows({ groups, edit }: RowsProps): ReactNode {
  const { t } = useTranslation()
  const can = useCan()
  const text = useMarkupText()
  const remove = useAct('DELETE /admin/v1/account-groups/:id', { renews: RENEWS, said: t('customers.group_deleted') })
  const ask = ({ id, name }: AccountGroup): void =>
    confirm({
      name: 'group-delete',
      title: t('customers.ask_delete', { name }),
      text: t('customers.ask_delete_text'),
      act: t('common.delete'),
      onConfirm: () => remove.mutate({ params: { id } }),
    })
  return (
    <DataList
      name="groups"
      prefix="groups_"
      label={t('customers.groups')}
      rows={groups}
      rowId={({ id }) => id}
      empty={{ picture: 'people', title: t('customers.no_groups'), text: t('customers.no_groups_text') }}
      columns={[
        { id: 'name', title: t('keys.name'), value: ({ name }) => name, cell: (group) => <GroupName group={group} /> },
        {
          id: 'markup',
          title: t('field.markup'),
          end: true,
          value: ({ markup }) => ({ decimal: markup }),
          cell: ({ markup }) => (
            <div>
              {text.factor(markup)}
              <div className={css.small}>{text.share(markup)}</div>
            </div>
          ),
        },
        {
          id: 'accounts',
          title: t('nav.accounts'),
          end: true,
          value: ({ accounts }) => accounts,
          cell: ({ id, accounts }) => (
            <Link to="/operator/accounts" search={{ group: id }}>
              {accounts}
            </Link>
          ),
        },
        {
          id: 'actions',
          title: '',
          end: true,
          cell: (group) =>
            can('PATCH /admin/v1/account-groups/:id') && (
              <div className={css.acts}>
                <Button
                  size="compact-sm"
                  variant="subtle"
                  aria-label={`${t('common.edit')}: ${group.name}`}
                  onClick={() => edit(group)}
                >
                  {t('common.edit')}
                </Button>
                <Button
                  size="compact-sm"
                  variant="subtle"
                  color="red"
                  disabled={group.accounts > 0}
                  aria-label={`${t('common.delete')}: ${group.name}`}
                  onClick={() => ask(group)}
                >
                  {t('common.delete')}
                </Button>
              </div>
            ),
        },
      ]}
    />
  )
}

function GroupName({ group }: { readonly group: AccountGroup }): ReactNode {
  return (
    <div>
      {group.name}
      <ExternalName of={group} />
    </div>
  )
}

function GroupForm({ group, done }: { readonly group: AccountGroup | null; readonly done: () => void }): ReactNode {
  const { t } = useTranslation()
  const options = { quiet: true, renews: RENEWS, said: t('common.saved'), done }
  const make = useAct('POST /admin/v1/account-groups', options)
  const change = useAct('PATCH /admin/v1/account-groups/:id', options)
  const form = useForm({
    initialValues: { name: group?.name ?? '', markup: group?.markup ?? '', external: group?.external_id ?? '' },
  })
  const failure = make.error ?? change.error
  return (
    <form
      onSubmit={form.onSubmit((values) => {
        const body = { name: values.name.trim(), markup: values.markup }
        if (group === null) make.mutate({ body })
        else change.mutate({ params: { id: group.id }, body: { ...body, external_id: externalIdOf(values.external) } })
      })}
    >
      <Stack>
        {failure !== null && <Failed failure={failure} />}
        <TextInput label={t('keys.name')} required maxLength={200} data-autofocus {...form.getInputProps('name')} />
        <CustomerMarkupField required {...form.getInputProps('markup')} />
        {group !== null && <ExternalIdField {...form.getInputProps('external')} />}
        <Button type="submit" loading={make.isPending || change.isPending}>
          {t('common.save')}
        </Button>
      </Stack>
    </form>
  )
}
