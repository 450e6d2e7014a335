import { Text } from '@mantine/core'
import { Fragment } from 'react'
import type { Account } from '../../../../../src/api/admin/account-contract.ts'
import type {
  CustomerEndpoint,
  CustomerPrice,
  CustomerPriceQuery,
} from '../../../../../src/api/admin/group-contract.ts'
import { useRead } from '../../../api/hooks.ts'
import { Can } from '../../../parts/Can.tsx'
import { ServerList } from '../../../parts/DataList.tsx'
import { ChoiceField } from '../../../parts/Filters.tsx'
import { Form, useCall } from '../../../parts/Form.tsx'
import { Section } from '../../../parts/Page.tsx'
import type { Search } from '../../../parts/list-place.ts'
import { format, t } from '../../../parts/words.ts'
import { priceName } from '../../models/PriceLines.tsx'
import { CustomerMarkupField, markupFactor } from '../MarkupField.tsx'
import own from './customer-prices.module.css'
import { accountAt } from '../../../parts/row-link.ts'

interface CustomerPriceTableProps {
  readonly query: (search: Search) => {
    readonly [Name in 'account' | 'model' | 'query']?: CustomerPriceQuery[Name] | undefined
  }
  /** The rows are accounts for one model, instead of models for one account. */
  readonly byAccount: boolean
}

/** What one account pays for each model, or each account for one model, with the rules that decide the price. */
export function CustomerPriceTable({ query, byAccount }: CustomerPriceTableProps) {
  return (
    <ServerList
      read="GET /admin/v1/customer-prices"
      query={query}
      height={420}
      name="customer-prices"
      label={t('customers.table')}
      rowId={({ account, model }) => `${account} ${model}`}
      empty={{ picture: byAccount ? 'people' : 'model', title: t(byAccount ? 'accounts.none' : 'models.none') }}
      columns={[
        byAccount
          ? {
              id: 'who',
              title: t('requests.account'),
              value: ({ account, account_name: known }) => (known === '' ? account : known),
              to: ({ account }) => accountAt(account, 'prices'),
              under: ({ group }) => group,
            }
          : {
              id: 'who',
              title: t('usage.model'),
              value: 'model',
              cell: (row) => row.model_name,
              code: ({ model }) => model,
            },
        {
          id: 'rule',
          title: t('customers.rule'),
          wide: true,
          value: ({ rule, markup }) => `${rule} ${markup ?? ''}`.trim(),
          cell: (row) => <Rule row={row} />,
        },
        {
          id: 'prices',
          title: t('customers.columns'),
          end: true,
          wide: true,
          value: ({ endpoints }) =>
            endpoints
              .flatMap(({ provider_name: provider, lines, conditions }) =>
                [{ condition: null, lines }, ...conditions].flatMap((under) =>
                  under.lines.map(
                    ({ price, paid }) =>
                      `${[provider, under.condition, priceName(price)].filter((part) => part !== null).join(', ')}: ${paid}`,
                  ),
                ),
              )
              .join('; '),
          cell: ({ endpoints }) =>
            endpoints.map((endpoint) => <EndpointPrices key={endpoint.endpoint} endpoint={endpoint} />),
        },
      ]}
    />
  )
}

/** The customer's rule, and the prices of the catalogue below it. */
function Rule({ row: { rule, markup, group, endpoints } }: { readonly row: CustomerPrice }) {
  const listedRule = ({ rule: made, markup: factor }: CustomerEndpoint): string =>
    factor === null ? t(`customers.from_${made}`) : t(`customers.from_${made}`, { markup: markupFactor(factor) })
  return (
    <div>
      <Text size="sm" fw={rule === 'none' ? 400 : 600}>
        {rule === 'none' || markup === null
          ? t('customers.by_none')
          : t(`customers.by_${rule}`, { group, markup: markupFactor(markup) })}
      </Text>
      {[...new Set(endpoints.map(listedRule))].map((line) => (
        <div key={line} className="small">
          {line}
        </div>
      ))}
    </div>
  )
}

function EndpointPrices({ endpoint }: { readonly endpoint: CustomerEndpoint }) {
  return (
    <div className={own.endpoint}>
      <Text size="xs" fw={600} ta="end">
        {endpoint.provider_name}
      </Text>
      <PaidLines lines={endpoint.lines} />
      {endpoint.conditions.map(({ condition, lines }) => (
        <Fragment key={condition}>
          <Text size="xs" ta="end">
            {condition}
          </Text>
          <PaidLines lines={lines} />
        </Fragment>
      ))}
    </div>
  )
}

function PaidLines({ lines }: Pick<CustomerEndpoint, 'lines'>) {
  return lines.map(({ price, listed, paid, margin_percent: margin }) => (
    <div key={price} className={own.line}>
      <span className="small">{priceName(price)}</span>
      <span className={own.number}>
        {listed !== paid && <s className="small">{format.price(listed)}</s>} {format.price(paid)}
      </span>
      <Text span size="xs" className={own.number ?? ''} c={margin !== null && margin < 0 ? 'red' : 'dimmed'}>
        {margin === null ? '–' : format.percent(margin / 100)}
      </Text>
    </div>
  ))
}

/** The group and the markup of an account, and the prices that it pays with them. */
export function AccountPrices({ account }: { readonly account: Account }) {
  return (
    <div className="page">
      <Can call="PATCH /admin/v1/accounts/:id">
        <Section boxed title={t('customers.own')} lead={t('customers.own_lead')}>
          <RuleForm account={account} />
        </Section>
      </Can>
      <CustomerPriceTable query={() => ({ account: account.id })} byAccount={false} />
    </div>
  )
}

function RuleForm({ account }: { readonly account: Account }) {
  const groups = useRead('GET /admin/v1/account-groups', {})
  const first: { group: string | null; markup: string } = { group: account.group, markup: account.markup ?? '' }
  const form = useCall('PATCH /admin/v1/accounts/:id', {
    said: t('common.saved'),
    renews: ['GET /admin/v1/accounts', 'GET /admin/v1/accounts/:id', 'GET /admin/v1/customer-prices'],
    first,
    input: ({ group, markup }) => ({
      params: { id: account.id },
      body: { group, markup: markup === '' ? null : markup },
    }),
  })
  return (
    <Form of={form} form="narrow" act={t('common.save')}>
      <ChoiceField
        label={t('field.group')}
        placeholder={t('customers.in_none')}
        data={(groups.data?.data ?? []).map(({ id, name, markup }) => ({
          value: id,
          label: `${name} · ${markupFactor(markup)}`,
        }))}
        {...form.field('group')}
      />
      <CustomerMarkupField placeholder={t('customers.of_group')} {...form.field('markup')} />
    </Form>
  )
}
