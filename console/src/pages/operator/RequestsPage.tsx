import { Button, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Generation, GenerationQuery } from '../../../../src/admin/report-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { ChoiceField } from '../../parts/ChoiceField.tsx'
import { DayField } from '../../parts/DayField.tsx'
import { timesOf } from '../../parts/day-range.ts'
import { FilterPanel } from '../../parts/FilterPanel.tsx'
import { errorName } from '../../parts/failure-text.ts'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Pager } from '../../parts/Pager.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'

const PAGE_ROWS = 50
const FIELDS = ['account', 'key', 'model', 'provider', 'generation_id', 'request_id'] as const
const DAYS = ['from', 'to'] as const
const STATUSES = ['completed', 'error', 'cancelled'] as const
type Filter = (typeof FIELDS)[number] | (typeof DAYS)[number] | 'status' | 'flagged'

/** The log across accounts, with the operator's cost of each request. */
export function RequestsPage(): ReactNode {
  const { t } = useTranslation()
  const search: Readonly<Partial<Record<Filter, string | undefined>>> = useSearch({ strict: false })
  const navigate = useNavigate()
  const format = useFormat()
  const [offset, setOffset] = useState(0)
  const status = STATUSES.find((known) => known === search.status)
  const filters: GenerationQuery = {
    ...Object.fromEntries(FIELDS.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]]))),
    ...(status === undefined ? {} : { status }),
    ...(search.flagged === 'true' ? { flagged: 'true' as const } : {}),
    ...timesOf(search.from, search.to, format.zone),
  }
  const requests = useRead(
    'GET /admin/v1/generations',
    { query: { ...filters, limit: PAGE_ROWS, offset } },
    { keep: true },
  )
  const go = (wish: Readonly<Record<Filter, string>>): void => {
    setOffset(0)
    void navigate({
      to: '/operator/requests',
      search: Object.fromEntries(
        Object.entries(wish)
          .filter(([, value]) => value.trim() !== '')
          .map(([name, value]) => [name, value.trim()]),
      ),
      replace: true,
    })
  }
  return (
    <OperatorPage title={t('nav.requests')} lead={t('requests.lead')}>
      <Filters search={search} go={go} />
      <Loaded of={requests} height={480}>
        {({ data, total, total_exact: exact, searched_to: searchedTo }) => (
          <>
            <Rows rows={data} />
            <Pager offset={offset} size={PAGE_ROWS} total={total} go={setOffset} atLeast={exact === false} />
            {searchedTo !== undefined && (
              <Text size="sm" c="dimmed">
                {t('requests.searched_to', { when: format.dateTime(searchedTo) })}
              </Text>
            )}
          </>
        )}
      </Loaded>
    </OperatorPage>
  )
}

function Filters({
  search,
  go,
}: {
  readonly search: Readonly<Partial<Record<Filter, string | undefined>>>
  readonly go: (wish: Readonly<Record<Filter, string>>) => void
}): ReactNode {
  const { t } = useTranslation()
  const form = useForm<Record<Filter, string>>({
    initialValues: {
      account: search.account ?? '',
      key: search.key ?? '',
      model: search.model ?? '',
      provider: search.provider ?? '',
      generation_id: search.generation_id ?? '',
      request_id: search.request_id ?? '',
      status: search.status ?? '',
      flagged: search.flagged ?? '',
      from: search.from ?? '',
      to: search.to ?? '',
    },
  })
  return (
    <form onSubmit={form.onSubmit(go)}>
      <FilterPanel>
        {FIELDS.map((name) => (
          <TextInput key={name} label={t(`requests.${name}`)} {...form.getInputProps(name)} />
        ))}
        <ChoiceField
          label={t('log.status')}
          data={STATUSES.map((value) => ({ value, label: t(`status.${value}`) }))}
          value={form.values.status === '' ? null : form.values.status}
          onChange={(value) => form.setFieldValue('status', value ?? '')}
        />
        <ChoiceField
          label={t('requests.usage')}
          data={[{ value: 'true', label: t('requests.flagged') }]}
          value={form.values.flagged === '' ? null : form.values.flagged}
          onChange={(value) => form.setFieldValue('flagged', value ?? '')}
        />
        {DAYS.map((name) => (
          <DayField
            key={name}
            label={t(`range.${name}`)}
            value={form.values[name]}
            onChange={(day) => form.setFieldValue(name, day)}
          />
        ))}
        <Button type="submit">{t('common.search')}</Button>
      </FilterPanel>
    </form>
  )
}

function Rows({ rows }: { readonly rows: readonly Generation[] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <List
      label={t('nav.requests')}
      rows={rows}
      rowId={({ id }) => id}
      empty={{ title: t('log.none'), text: t('log.none_text') }}
      columns={[
        {
          id: 'time',
          title: t('log.time'),
          cell: (row) => (
            <div>
              {format.dateTime(row.timestamp)}
              <div className={css.mono}>{row.generation_id}</div>
            </div>
          ),
        },
        {
          id: 'model',
          title: t('usage.model'),
          cell: (row) => (
            <TwoLines below={joined(row.provider_name, row.app_title ?? row.app_url)}>{row.model_name}</TwoLines>
          ),
        },
        {
          id: 'account',
          title: t('requests.account'),
          cell: (row) => (
            <TwoLines below={row.key_name}>
              <Link to="/operator/accounts/$id" params={{ id: row.account }}>
                {row.account}
              </Link>
            </TwoLines>
          ),
        },
        { id: 'status', title: t('log.status'), cell: (row) => <RequestStatus row={row} /> },
        {
          id: 'tokens',
          title: t('log.tokens'),
          end: true,
          cell: (row) => (
            <TwoLines below={row.flagged ? t('requests.flagged') : null}>
              {`${format.number(row.input_tokens)} → ${format.number(row.output_tokens)}`}
            </TwoLines>
          ),
        },
        { id: 'cost', title: t('margin.provider_cost'), end: true, cell: (row) => format.money(row.provider_cost) },
        {
          id: 'revenue',
          title: t('margin.revenue'),
          end: true,
          cell: (row) => (
            <TwoLines
              below={row.shortfall > 0 ? t('requests.shortfall', { amount: format.money(row.shortfall) }) : null}
            >
              {format.money(row.total_cost)}
            </TwoLines>
          ),
        },
      ]}
    />
  )
}

/** A value with a smaller text below it; null = no such text. */
function TwoLines({ below, children }: { readonly below: string | null; readonly children: ReactNode }): ReactNode {
  return (
    <div>
      {children}
      {below !== null && <div className={css.small}>{below}</div>}
    </div>
  )
}

function RequestStatus({ row: { status, error_type: error } }: { readonly row: Generation }): ReactNode {
  const { t } = useTranslation()
  return (
    <StatusBadge tone={status === 'completed' ? 'good' : status === 'error' ? 'bad' : 'quiet'}>
      {status === 'error' && error !== null ? errorName(error) : t(`status.${status}`)}
    </StatusBadge>
  )
}

function joined(...parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null).join(' · ')
}
