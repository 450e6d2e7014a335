import { Button, CloseButton, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import type { LogQuery } from '../../../../src/api/cabinet/log-contract.ts'
import type { GenerationStatus } from '../../../../src/ledger/generation-record.ts'
import { REQUEST_TYPES } from '../../../../src/tables/model-types.ts'
import { given, queryText } from '../../api/endpoint.ts'
import { useRead } from '../../api/hooks.ts'
import { DayField } from '../../parts/DayField.tsx'
import { FilterField, FilterPanel, type Choice } from '../../parts/Filters.tsx'
import { DownloadIcon } from '../../parts/icons.ts'
import { useIsHere } from '../../parts/is-here.ts'
import { useAsk, useFilters } from '../../parts/list-place.ts'
import { Page } from '../../parts/Page.tsx'
import { useWords } from '../../parts/words.ts'
import { shownDay, timesOf } from '../../parts/zoned-day.ts'
import { logPages, LogRows } from './LogRows.tsx'

/** Every filter that the server has for this page; `from` and `to` are days, or moments where a chart leads here. */
type FilterName = Exclude<keyof LogQuery, 'cursor' | 'limit'>
type LogSearch = Readonly<Partial<Record<FilterName, string | undefined>>>

const STATUSES: readonly GenerationStatus[] = ['completed', 'error', 'cancelled']

const TYPING_MS = 120

/** All requests, newest first. The filters are in the address. */
export function LogPage(): ReactNode {
  const { t, format } = useWords()
  const { filters, clear } = useFilters<FilterName>()
  const client = useQueryClient()
  const query = logQuery(filters, format.zone)
  useAsk((wish) => void client.prefetchInfiniteQuery(logPages(logQuery(wish, format.zone))))
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
      <LogFilters />
      {Object.keys(query).length > 0 && (
        <div>
          <Button size="xs" variant="subtle" onClick={clear}>
            {t('log.clear')}
          </Button>
        </div>
      )}
      <LogRows query={query} />
    </Page>
  )
}

function LogFilters(): ReactNode {
  const { t, format } = useWords()
  const { filters, filter } = useFilters<FilterName>()
  const known = useRead('GET /cabinet/v1/log/filters', {}).data
  const choices: readonly (readonly [FilterName, readonly Choice[] | undefined])[] = [
    ['model', known?.models.map((value) => ({ value, label: value }))],
    [
      'key',
      known?.keys.map(({ id, name, label, deleted }) => ({
        value: id,
        label: `${name} · ${label}${deleted ? ` (${t('log.deleted')})` : ''}`,
      })),
    ],
    ['status', STATUSES.map((value) => ({ value, label: t(`status.${value}`) }))],
    ['type', REQUEST_TYPES.map((value) => ({ value, label: t(`type.${value}`) }))],
    ['provider', known?.providers.map((value) => ({ value, label: value }))],
    ['app', known?.apps.map(({ id, title }) => ({ value: id, label: title === '' ? t('usage.no_app') : title }))],
  ]
  return (
    <FilterPanel>
      {choices.map(([name, data = []]) => (
        <FilterField key={name} name={name} label={t(`log.filter_${name as 'model'}`)} data={data} open />
      ))}
      {(['from', 'to'] as const).map((edge) => (
        <DayField
          key={edge}
          label={t(`range.${edge}`)}
          value={shownDay(filters[edge], format.zone, edge)}
          onChange={(day) => filter(edge, day)}
        />
      ))}
      <IdField key={filters.id ?? ''} id={filters.id ?? ''} change={(value) => filter('id', value)} />
    </FilterPanel>
  )
}

function IdField({ id, change }: { readonly id: string; readonly change: (id: string) => void }): ReactNode {
  const { t } = useWords()
  const [text, setText] = useState(id)
  const isHere = useIsHere()
  const later = useDebouncedCallback((value: string) => {
    if (isHere()) change(value.trim())
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

/** The query for the server, without unknown values of the address. */
function logQuery({ model, key, status, type, provider, app, from, to, id }: LogSearch, zone: string): LogQuery {
  return given({
    model,
    key,
    provider,
    app,
    id,
    status: STATUSES.find((known) => known === status),
    type: REQUEST_TYPES.find((known) => known === type),
    ...timesOf(from, to, zone),
  })
}
