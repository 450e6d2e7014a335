import { SegmentedControl, Select, Stack } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useRead } from '../../../api/hooks.ts'
import { SearchField } from '../../../parts/ChoiceField.tsx'
import { useTyped } from '../../../parts/list-place.ts'
import { Empty } from '../../../parts/Loaded.tsx'
import { Section } from '../../../parts/Section.tsx'
import css from '../../../style/layout.module.css'
import { OperatorPage } from '../OperatorPage.tsx'
import { AccountField } from '../requests/AccountField.tsx'
import { AccountGroups } from './AccountGroups.tsx'
import { CustomerPriceTable } from './CustomerPriceTable.tsx'

const WAYS = ['model', 'account'] as const

/** What the address has: the way to look, what is picked, the words of the search and the page. */
type PriceSearch = Readonly<Partial<Record<'by' | 'account' | 'model' | 'query' | 'offset', string | undefined>>>

/** Groups of accounts with their markups, and what each customer pays. */
export function CustomerPricesPage(): ReactNode {
  const { t } = useTranslation()
  return (
    <OperatorPage title={t('nav.customer_prices')} lead={t('customers.lead')}>
      <AccountGroups />
      <Section title={t('customers.table')} lead={t('customers.table_lead')}>
        <Table />
      </Section>
    </OperatorPage>
  )
}

function Table(): ReactNode {
  const { t } = useTranslation()
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
      <div className={css.fields}>
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
            allowDeselect={false}
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
          query={{
            ...(by === 'account' ? { account: picked } : { model: picked }),
            ...(search.query === undefined ? {} : { query: search.query }),
          }}
        />
      )}
    </Stack>
  )
}

/** The words of the search, which come into the address when the typing rests. */
function Words({ search, go }: { readonly search: PriceSearch; readonly go: (wish: PriceSearch) => void }): ReactNode {
  const [text, setText] = useTyped(search.query ?? '', (words) =>
    go({ ...search, query: words === '' ? undefined : words, offset: undefined }),
  )
  return <SearchField value={text} change={setText} />
}
