import { SegmentedControl, Select, Stack, TextInput } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { AccountGroup } from '../../../../../src/api/admin/group-contract.ts'
import { useAct, useRead } from '../../../api/hooks.ts'
import { Can, useCan } from '../../../parts/Can.tsx'
import { ReadList } from '../../../parts/DataList.tsx'
import { AddButton, Dialog } from '../../../parts/Dialog.tsx'
import { ExternalIdField, externalIdOf, ExternalName } from '../../../parts/ExternalName.tsx'
import { SearchField } from '../../../parts/Filters.tsx'
import { Form, useFields } from '../../../parts/Form.tsx'
import { Empty } from '../../../parts/Loaded.tsx'
import { Section } from '../../../parts/Page.tsx'
import { useTyped } from '../../../parts/list-place.ts'
import { t } from '../../../parts/words.ts'
import { CustomerMarkupField, markupFactor, markupShare } from '../MarkupField.tsx'
import { OperatorPage } from '../OperatorPage.tsx'
import { AccountField } from '../requests/AccountField.tsx'
import { CustomerPriceTable } from './CustomerPriceTable.tsx'

const WAYS = ['model', 'account'] as const

/** What the address contains: the view, the chosen account or model, the search and the page. */
type PriceSearch = Readonly<Partial<Record<'by' | 'account' | 'model' | 'query' | 'offset', string | undefined>>>

/** Groups of accounts with their markups, and what each customer pays. */
export function CustomerPricesPage() {
  return (
    <OperatorPage title={t('nav.customer_prices')} lead={t('customers.lead')}>
      <AccountGroups />
      <Section title={t('customers.table')} lead={t('customers.table_lead')}>
        <Table />
      </Section>
    </OperatorPage>
  )
}

function Table() {
  const search: PriceSearch = useSearch({ strict: false })
  const navigate = useNavigate()
  const models = useRead('GET /admin/v1/models', {})
  const go = (wish: PriceSearch): void =>
    void navigate({ to: '/operator/customer-prices', search: wish, replace: true })
  const by = WAYS.find((way) => way === search.by) ?? 'model'
  const sold = (models.data?.data ?? []).filter(({ active }) => active)
  const picked = by === 'account' ? search.account : (search.model ?? sold[0]?.id)
  return (
    <Stack>
      <div className="fields">
        <SegmentedControl
          value={by}
          onChange={(way) => go({ by: way })}
          data={WAYS.map((value) => ({ value, label: t(`customers.of_${value}`) }))}
          aria-label={t('customers.way')}
        />
        {by === 'account' ? (
          <AccountField
            value={search.account ?? null}
            change={(id) => go({ by, account: id ?? undefined })}
            size="sm"
          />
        ) : (
          <Select
            aria-label={t('usage.model')}
            searchable
            limit={60}
            data={sold.map(({ id }) => id)}
            value={picked ?? null}
            onChange={(id) => go({ by, model: id ?? undefined })}
          />
        )}
        <Words key={`${by} ${picked}`} search={search} go={go} />
      </div>
      {picked === undefined ? (
        <Empty picture="people" title={t('customers.pick')} />
      ) : (
        <CustomerPriceTable
          byAccount={by === 'model'}
          query={({ query }) => ({ ...(by === 'account' ? { account: picked } : { model: picked }), query })}
        />
      )}
    </Stack>
  )
}

/** The search field, whose text is in the address as soon as typing pauses. */
function Words({ search, go }: { readonly search: PriceSearch; readonly go: (wish: PriceSearch) => void }) {
  const [text, setText] = useTyped(search.query ?? '', (words) =>
    go({ ...search, query: words === '' ? undefined : words, offset: undefined }),
  )
  return <SearchField value={text} change={setText} />
}

const RENEWS = ['GET /admin/v1/account-groups', 'GET /admin/v1/customer-prices'] as const

/** Groups of accounts, each with its markup. */
// oxlint-disable-next-line eslint/max-lines-per-function -- the columns of a list
function AccountGroups() {
  const can = useCan()('PATCH /admin/v1/account-groups/:id')
  const [edited, setEdited] = useState<AccountGroup | 'new' | null>(null)
  const close = (): void => setEdited(null)
  const remove = useAct('DELETE /admin/v1/account-groups/:id', { renews: RENEWS, said: t('customers.group_deleted') })
  const ask = ({ id, name }: AccountGroup): void =>
    remove.ask({
      name: 'group-delete',
      title: t('customers.ask_delete', { name }),
      text: t('customers.ask_delete_text'),
      input: { params: { id } },
    })
  const actOf = (label: string, group: AccountGroup) => ({ label, name: `${label}: ${group.name}` })
  return (
    <Section
      title={t('customers.groups')}
      lead={t('customers.groups_lead')}
      actions={
        <Can call="POST /admin/v1/account-groups">
          <AddButton variant="default" onClick={() => setEdited('new')}>
            {t('customers.add_group')}
          </AddButton>
        </Can>
      }
    >
      <ReadList
        of={useRead('GET /admin/v1/account-groups', {})}
        height={120}
        name="groups"
        prefix="groups_"
        label={t('customers.groups')}
        empty={{ picture: 'people', title: t('customers.no_groups'), text: t('customers.no_groups_text') }}
        columns={[
          { id: 'name', title: t('keys.name'), value: 'name', under: (group) => <ExternalName of={group} /> },
          {
            id: 'markup',
            title: t('field.markup'),
            end: true,
            value: ({ markup }) => ({ decimal: markup }),
            cell: ({ markup }) => markupFactor(markup),
            under: ({ markup }) => markupShare(markup),
          },
          {
            id: 'accounts',
            title: t('nav.accounts'),
            as: 'count',
            value: 'accounts',
            to: ({ id }) => ({ to: '/operator/accounts', search: { group: id } }),
          },
          {
            id: 'actions',
            acts: (group) => [
              can && { ...actOf(t('common.edit'), group), run: () => setEdited(group) },
              can && {
                ...actOf(t('common.delete'), group),
                harmful: true,
                disabled: group.accounts > 0,
                run: () => ask(group),
              },
            ],
          },
        ]}
      />
      <Dialog
        name="group"
        of={edited}
        close={close}
        title={edited === null || edited === 'new' ? t('customers.add_group') : edited.name}
      >
        {(group) => <GroupForm group={group === 'new' ? null : group} done={close} />}
      </Dialog>
    </Section>
  )
}

function GroupForm({ group, done }: { readonly group: AccountGroup | null; readonly done: () => void }) {
  const options = { quiet: true, renews: RENEWS, said: t('common.saved'), done }
  const make = useAct('POST /admin/v1/account-groups', options)
  const change = useAct('PATCH /admin/v1/account-groups/:id', options)
  const form = useFields({
    first: { name: group?.name ?? '', markup: group?.markup ?? '', external_id: group?.external_id ?? '' },
    calls: [make, change],
    send: ({ name, markup, external_id: external }) => {
      const body = { name: name.trim(), markup }
      if (group === null) make.mutate({ body })
      else change.mutate({ params: { id: group.id }, body: { ...body, external_id: externalIdOf(external) } })
    },
  })
  return (
    <Form of={form} form="dialog" act={t('common.save')}>
      <TextInput label={t('keys.name')} required data-autofocus {...form.field('name')} />
      <CustomerMarkupField required {...form.field('markup')} />
      {group !== null && <ExternalIdField {...form.field('external_id')} />}
    </Form>
  )
}
