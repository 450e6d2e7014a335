import { Button, CloseButton, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { LogFilters, LogQuery } from '../../../../src/api/cabinet/log-contract.ts'
import { REQUEST_TYPES } from '../../../../src/tables/model-types.ts'
import type { GenerationStatus } from '../../../../src/ledger/generation-record.ts'
import { queryText } from '../../api/endpoint.ts'
import { useRead } from '../../api/hooks.ts'
import { ChoiceField, withChosen } from '../../parts/ChoiceField.tsx'
import { DayField } from '../../parts/DayField.tsx'
import { FilterPanel } from '../../parts/FilterPanel.tsx'
import { DownloadIcon } from '../../parts/icons.ts'
import { wishedSearch } from '../../parts/ask-ahead.ts'
import { useIsHere } from '../../parts/is-here.ts'
import { Page } from '../../parts/Page.tsx'
import { useFormat } from '../../parts/use-format.ts'
import { shownDay, timesOf } from '../../parts/day-range.ts'
import { logPages, LogRows } from './LogRows.tsx'

type FilterName = Exclude<keyof LogQuery, 'cursor' | 'limit'>
/** Every filter that the server has for this page. */
const FILTERS: Readonly<Record<FilterName, true>> = {
  model: true,
  key: true,
  status: true,
  type: true,
  provider: true,
  app: true,
  from: true,
  to: true,
  id: true,
}
const STATUSES: readonly GenerationStatus[] = ['completed', 'error', 'cancelled']

const TYPING_MS = 120

/** All requests, newest first. The filters are in the address. */
export function LogPage(): ReactNode {
  const { t } = useTranslation()
  const search: LogSearch = useSearch({ strict: false })
  const navigate = useNavigate()
  const client = useQueryClient()
  const router = useRouter()
  const { zone } = useFormat()
  const query = logQuery(search, zone)
  const go = (wish: LogSearch): void => {
    void client.prefetchInfiniteQuery(logPages(logQuery(wish, zone)))
    void navigate({ to: '/log', search: wish, replace: true })
  }
  const change = (name: FilterName, value: string | null): void =>
    go({ ...wishedSearch(router), [name]: value ?? undefined })
  const isFiltered = Object.entries(search).some(([name, value]) => Object.hasOwn(FILTERS, name) && value !== undefined)
  return (
    <Page
      title={t('nav.log')}
      lead={t('log.lead')}
      actions={
        <Button
          component="a"
          href={`/cabinet/v1/log.csv?${queryText(query)}`}
          download="log.csv"
          variant="default"
          leftSection={<DownloadIcon size={17} />}
        >
          {t('log.csv')}
        </Button>
      }
    >
      <Filters search={search} change={change} />
      {isFiltered && (
        <div>
          <Button size="xs" variant="subtle" onClick={() => go({})}>
            {t('log.clear')}
          </Button>
        </div>
      )}
      <LogRows query={query} />
    </Page>
  )
}

interface FiltersProps {
  readonly search: LogSearch
  readonly change: (name: FilterName, value: string | null) => void
}

function Filters({ search, change }: FiltersProps): ReactNode {
  const { t } = useTranslation()
  const { zone } = useFormat()
  const known = useRead('GET /cabinet/v1/log/filters', {}).data
  const pick = (name: FilterName, data: readonly { readonly value: string; readonly label: string }[]): ReactNode => (
    <ChoiceField
      label={t(`log.filter_${name}`)}
      data={withChosen(data, search[name])}
      value={search[name] ?? null}
      onChange={(value) => change(name, value)}
      searchable
      limit={60}
    />
  )
  return (
    <FilterPanel>
      {pick('model', plain(known?.models))}
      {pick('key', keysOf(known, t('log.deleted')))}
      {pick(
        'status',
        STATUSES.map((value) => ({ value, label: t(`status.${value}`) })),
      )}
      {pick(
        'type',
        REQUEST_TYPES.map((value) => ({ value, label: t(`type.${value}`) })),
      )}
      {pick('provider', plain(known?.providers))}
      {pick(
        'app',
        (known?.apps ?? []).map(({ id, title }) => ({ value: id, label: title === '' ? t('usage.no_app') : title })),
      )}
      <DayField
        label={t('range.from')}
        value={shownDay(search.from, zone, 'from')}
        onChange={(day) => change('from', day === '' ? null : day)}
      />
      <DayField
        label={t('range.to')}
        value={shownDay(search.to, zone, 'to')}
        onChange={(day) => change('to', day === '' ? null : day)}
      />
      <IdField key={search.id ?? ''} id={search.id ?? ''} change={(value) => change('id', value)} />
    </FilterPanel>
  )
}

function IdField({ id, change }: { readonly id: string; readonly change: (id: string | null) => void }): ReactNode {
  const { t } = useTranslation()
  const [text, setText] = useState(id)
  const isHere = useIsHere()
  const later = useDebouncedCallback((value: string) => {
    if (isHere()) change(value.trim() === '' ? null : value.trim())
  }, TYPING_MS)
  const type = (value: string): void => {
    const isPasted = Math.abs(value.length - text.length) > 1
    setText(value)
    later(value)
    if (isPasted) later.flush()
  }
  return (
    <TextInput
      label={t('log.filter_id')}
      placeholder="gen-…"
      value={text}
      onChange={({ currentTarget: { value } }) => type(value)}
      rightSection={
        text === '' ? null : <CloseButton size="sm" aria-label={t('common.clear')} onClick={() => type('')} />
      }
    />
  )
}

function plain(values: readonly string[] | undefined): readonly { readonly value: string; readonly label: string }[] {
  return (values ?? []).map((value) => ({ value, label: value }))
}

function keysOf(
  known: LogFilters | undefined,
  deleted: string,
): readonly { readonly value: string; readonly label: string }[] {
  return (known?.keys ?? []).map((key) => ({
    value: key.id,
    label: `${key.name} · ${key.label}${key.deleted ? ` (${deleted})` : ''}`,
  }))
}

/** The filters as the address has them; `from` and `to` are days, or moments where a chart leads here. */
type LogSearch = Readonly<Partial<Record<FilterName, string | undefined>>>

/** The query for the server, without unknown values of the address. */
function logQuery({ model, key, status, type, provider, app, from, to, id }: LogSearch, zone: string): LogQuery {
  const knownStatus = STATUSES.find((known) => known === status)
  const knownType = REQUEST_TYPES.find((known) => known === type)
  return {
    ...(model === undefined ? {} : { model }),
    ...(key === undefined ? {} : { key }),
    ...(provider === undefined ? {} : { provider }),
    ...(app === undefined ? {} : { app }),
    ...(id === undefined ? {} : { id }),
    ...(knownStatus === undefined ? {} : { status: knownStatus }),
    ...(knownType === undefined ? {} : { type: knownType }),
    ...timesOf(from, to, zone),
  }
}
