import { Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type {
  CustomerEndpoint,
  CustomerPrice,
  CustomerPriceQuery,
} from '../../../../../src/api/admin/group-contract.ts'
import { useRead } from '../../../api/hooks.ts'
import { DataList, PAGE_ROWS } from '../../../parts/DataList.tsx'
import { fileAddress } from '../../../parts/list-csv.ts'
import { useListPlace } from '../../../parts/list-place.ts'
import { Loaded } from '../../../parts/Loaded.tsx'
import { useFormat } from '../../../parts/use-format.ts'
import css from '../../../style/layout.module.css'
import { usePriceName } from '../../models/PriceLines.tsx'
import { useMarkupText } from './markup-text.ts'
import own from './customer-prices.module.css'

export interface CustomerPriceTableProps {
  readonly query: Pick<CustomerPriceQuery, 'account' | 'model' | 'query'>
}

/** What an account pays for each model, or each account for a model, with the rules that make the price. */
export function CustomerPriceTable({ query }: CustomerPriceTableProps): ReactNode {
  const { t } = useTranslation()
  const name = usePriceName()
  const { offset } = useListPlace()
  const prices = useRead(
    'GET /admin/v1/customer-prices',
    { query: { ...query, limit: PAGE_ROWS, offset } },
    { keep: true },
  )
  const byAccount = query.account === undefined
  return (
    <Loaded of={prices} height={420}>
      {({ data, total }) => (
        <DataList
          name="customer-prices"
          label={t('customers.table')}
          rows={data}
          page={{ total }}
          file={fileAddress('GET /admin/v1/customer-prices', { query })}
          rowId={({ account, model }) => `${account} ${model}`}
          empty={{ picture: byAccount ? 'people' : 'model', title: t(byAccount ? 'accounts.none' : 'models.none') }}
          columns={[
            {
              id: 'who',
              title: t(byAccount ? 'requests.account' : 'usage.model'),
              value: (row) => (byAccount ? row.account_name : row.model),
              cell: byAccount ? accountOf : modelOf,
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
                  .flatMap(({ provider_name: provider, lines }) =>
                    lines.map(({ price, paid }) => `${provider}, ${name(price)}: ${paid}`),
                  )
                  .join('; '),
              cell: ({ endpoints }) =>
                endpoints.map((endpoint) => <EndpointPrices key={endpoint.endpoint} endpoint={endpoint} />),
            },
          ]}
        />
      )}
    </Loaded>
  )
}

function accountOf({ account, account_name: name, group }: CustomerPrice): ReactNode {
  return (
    <div>
      <Link to="/operator/accounts/$id" params={{ id: account }} search={{ tab: 'prices' }}>
        {name === '' ? account : name}
      </Link>
      {group !== null && <div className={css.small}>{group}</div>}
    </div>
  )
}

function modelOf({ model, model_name: name }: CustomerPrice): ReactNode {
  return (
    <div>
      {name}
      <div className={css.mono}>{model}</div>
    </div>
  )
}

/** The customer's rule, and what is below it in the catalogue. */
function Rule({ row: { rule, markup, group, endpoints } }: { readonly row: CustomerPrice }): ReactNode {
  const { t } = useTranslation()
  const text = useMarkupText()
  const listed = [...new Set(endpoints.map((endpoint) => listedRule(endpoint)))]
  function listedRule({ rule: made, markup: factor }: CustomerEndpoint): string {
    return factor === null ? t(`customers.from_${made}`) : t(`customers.from_${made}`, { markup: text.factor(factor) })
  }
  return (
    <div>
      <Text size="sm" fw={rule === 'none' ? 400 : 600}>
        {rule === 'none' || markup === null
          ? t('customers.by_none')
          : t(`customers.by_${rule}`, { group, markup: text.factor(markup) })}
      </Text>
      {listed.map((line) => (
        <div key={line} className={css.small}>
          {line}
        </div>
      ))}
    </div>
  )
}

function EndpointPrices({ endpoint }: { readonly endpoint: CustomerEndpoint }): ReactNode {
  const format = useFormat()
  const name = usePriceName()
  return (
    <div className={own.endpoint}>
      <Text size="xs" fw={600} className={own.provider ?? ''}>
        {endpoint.provider_name}
      </Text>
      {endpoint.lines.map(({ price, listed, paid, margin_percent: margin }) => (
        <div key={price} className={own.line}>
          <span className={css.small}>{name(price)}</span>
          <span className={own.number}>
            {listed !== paid && <s className={css.small}>{format.price(listed)}</s>} {format.price(paid)}
          </span>
          <Text
            span
            size="xs"
            className={own.number ?? ''}
            {...(margin !== null && margin < 0 ? { c: 'red' } : { c: 'dimmed' })}
          >
            {margin === null ? '–' : format.percent(margin / 100)}
          </Text>
        </div>
      ))}
    </div>
  )
}
