import { Button, CloseButton, Loader, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { LogQuery, LogRow } from '../../../../src/api/cabinet/log-contract.ts'
import type { GenerationStatus } from '../../../../src/ledger/generation-record.ts'
import { REQUEST_TYPES } from '../../../../src/tables/model-types.ts'
import { call } from '../../api/call.ts'
import { given, queryText } from '../../api/endpoint.ts'
import { useRead } from '../../api/hooks.ts'
import { Note } from '../../parts/cells.tsx'
import { type Choice, CompactChoice, FilterPanel, withChosen } from '../../parts/Filters.tsx'
import { useIsHere } from '../../parts/is-here.ts'
import { type Search, useAsk, useFilters, useShown } from '../../parts/list-place.ts'
import { Empty, FailedPlace, Outline } from '../../parts/Loaded.tsx'
import { csvFormat } from '../../parts/ListTools.tsx'
import { Page } from '../../parts/Page.tsx'
import { onDemand } from '../../parts/OnDemand.tsx'
import { logTimes, RangeFields, useLogRange } from '../../parts/RangeFields.tsx'
import { Why } from '../../parts/Refusals.tsx'
import { format, t } from '../../parts/words.ts'
import { Log, LogActions, LogTabs } from '../log/Log.tsx'
import type { Line } from '../log/LogRows.tsx'
import css from '../log/log.module.css'

/** Every filter that the server has for this page, but its days. */
type FilterName = Exclude<keyof LogQuery, 'cursor' | 'limit' | 'from' | 'to'>
type LogSearch = Readonly<Partial<Record<FilterName, string | undefined>>>

const OwnStory = onDemand('OwnStory', () => import('./OwnStory.tsx'), 600)

const STATUSES: readonly GenerationStatus[] = ['completed', 'error', 'cancelled']

const TYPING_MS = 120
const LIVE_MS = 3_000

/** All requests, newest first. The filters are in the address. */
export function LogPage() {
  const { filters } = useFilters<FilterName>()
  const client = useQueryClient()
  const query = logQuery(filters)
  useAsk((wish) => void client.prefetchInfiniteQuery(logPages(logQuery(wish))))
  return (
    <Page title={t('nav.log')} lead={t('log.lead')} actions={<LogTabs of="log" at={0} />}>
      <LogFilters />
      <LogRows query={query} />
    </Page>
  )
}

function LogFilters() {
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
    <FilterPanel compact>
      {choices.map(([name, data = []]) => (
        <CompactChoice
          key={name}
          label={t(`log.filter_${name as 'model'}`)}
          limit={60}
          comboboxProps={{ width: 260, position: 'bottom-start' }}
          value={filters[name] ?? null}
          data={withChosen(data, filters[name])}
          onChange={(value) => filter(name, value)}
        />
      ))}
      <RangeFields compact {...useLogRange()} />
      {(['end_user', 'id'] as const).map((name) => (
        <ExactField
          key={`${name} ${filters[name] ?? ''}`}
          label={t(`log.filter_${name}`)}
          value={filters[name] ?? ''}
          change={(value) => filter(name, value)}
        />
      ))}
    </FilterPanel>
  )
}

interface ExactFieldProps {
  readonly label: string
  readonly value: string
  readonly change: (value: string) => void
}

/** A name that the rows have exactly. */
function ExactField({ label, value: asked, change }: ExactFieldProps) {
  const [text, setText] = useState(asked)
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
      size="xs"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={({ currentTarget: { value } }) => type(value)}
      rightSection={
        text === '' ? null : <CloseButton size="sm" aria-label={t('common.clear')} onClick={() => type('')} />
      }
    />
  )
}

/** The query for the server, without unknown values of the address. */
function logQuery(search: Search): LogQuery {
  const { model, key, status, type, provider, app, end_user, id }: LogSearch = search
  return given({
    model,
    key,
    provider,
    app,
    end_user,
    id,
    status: STATUSES.find((known) => known === status),
    type: REQUEST_TYPES.find((known) => known === type),
    ...logTimes(search),
  })
}

const PAGE_ROWS = 100
/** The next page is loaded when fewer rows than this are left below. */
const AHEAD_ROWS = 60
const KEPT_MS = 15_000

/** The query of the log with these filters, for a component or to load it in advance. */
function logPages(query: LogQuery) {
  return infiniteQueryOptions({
    queryKey: ['GET /cabinet/v1/log', query],
    queryFn: ({ pageParam, signal }) =>
      call(
        'GET /cabinet/v1/log',
        { query: { ...query, limit: PAGE_ROWS, ...(pageParam === null ? {} : { cursor: pageParam }) } },
        signal,
      ),
    // The first page has no cursor.
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor: next }) => next,
    // No page is loaded again. A user who returns soon finds the list as it was; later it starts with the first page.
    staleTime: Infinity,
    gcTime: KEPT_MS,
  })
}

/** The log as one long list. Scrolling loads the next page, and only the visible rows are in the document. */
function LogRows({ query }: { readonly query: LogQuery }) {
  const [live, setLive] = useState(true)
  const tools = <LogActions name="log" live={live} setLive={setLive} />
  const pages = useInfiniteQuery({
    ...logPages(query),
    placeholderData: keepPreviousData,
    // New rows come above the first ones, until the reader has gone further down.
    refetchInterval: ({ state }) => (live && state.data?.pages.length === 1 ? LIVE_MS : false),
  })
  const asked = useShown(JSON.stringify(query), pages.isPlaceholderData)
  const lines = useMemo(() => pages.data?.pages.flatMap(({ data }) => data.map(lineOf)) ?? [], [pages.data])
  if (pages.isError && pages.data === undefined)
    return <FailedPlace failure={pages.error} retry={() => void pages.refetch()} />
  if (pages.data === undefined) return <Outline height={420} />
  const searchedTo = pages.data.pages.at(-1)?.searched_to ?? null
  if (lines.length === 0 && !pages.hasNextPage)
    return (
      <div>
        {tools}
        <Empty picture="log" title={t('log.none')} text={t('log.none_text')} />
        {query.id !== undefined && <RefusedRequest id={query.id} />}
      </div>
    )
  const [has, busy] = [
    pages.hasNextPage && !pages.isPlaceholderData,
    pages.isFetchingNextPage || pages.isPlaceholderData,
  ]
  const more = (): void => void pages.fetchNextPage()
  return (
    <Log
      name="log"
      label={t('nav.log')}
      who={t('log.filter_key')}
      tools={tools}
      lines={lines}
      file={`/cabinet/v1/log.csv?${queryText({ ...query, format: csvFormat() })}`}
      asked={asked}
      old={pages.isPlaceholderData}
      long={{
        near: (last) => {
          if (has && !busy && searchedTo === null && last >= lines.length - AHEAD_ROWS) more()
        },
        ended: !has,
        foot: (
          <tr className={css.foot} role="row">
            <td role="cell">
              {busy ? (
                <Loader size="sm" aria-label={t('common.loading')} />
              ) : has ? (
                <Button size="xs" variant="default" onClick={more}>
                  {searchedTo === null ? t('log.more') : t('log.search_on', { when: format.dateTime(searchedTo) })}
                </Button>
              ) : (
                <Note>{t('log.end', { count: lines.length, shown: format.number(lines.length) })}</Note>
              )}
            </td>
          </tr>
        ),
      }}
      story={(id) => <OwnStory id={id} />}
    />
  )
}

function lineOf(row: LogRow): Line {
  return {
    id: row.generation_id,
    at: row.at,
    model: row.model,
    provider: row.provider_name,
    who: row.key_name,
    by: row.app_title ?? row.app_url,
    status: row.status,
    error: row.error_type,
    input: row.input_tokens,
    output: row.output_tokens,
    ms: row.duration_ms,
    cost: row.cost,
  }
}

/** A request that is not in the log may have been refused. */
function RefusedRequest({ id }: { readonly id: string }) {
  const found = useRead('GET /cabinet/v1/refusals', { query: { request_id: id, limit: 1 } }).data?.data[0]
  return (
    found !== undefined && (
      <div role="status" data-refused>
        <Link to="/log/refused" search={{ request_id: id }}>
          {t('refused.found', { when: format.dateTime(found.at) })}
        </Link>
        <Why of={found} reader="customer" />
      </div>
    )
  )
}
