import { Button, CloseButton, Loader, TextInput } from '@mantine/core'
import { useDebouncedCallback, useMediaQuery } from '@mantine/hooks'
import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, memo, type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { LogQuery, LogRow } from '../../../../src/api/cabinet/log-contract.ts'
import type { GenerationStatus } from '../../../../src/ledger/generation-record.ts'
import { REQUEST_TYPES } from '../../../../src/tables/model-types.ts'
import { call } from '../../api/call.ts'
import { given, queryText } from '../../api/endpoint.ts'
import { useRead } from '../../api/hooks.ts'
import { Money, requestEnd, Note, Press } from '../../parts/cells.tsx'
import { DayField } from '../../parts/DayField.tsx'
import { type Choice, FilterField, FilterPanel } from '../../parts/Filters.tsx'
import { DownloadIcon } from '../../parts/icons.ts'
import { useIsHere } from '../../parts/is-here.ts'
import { useAsk, useFilters, useShown } from '../../parts/list-place.ts'
import type { Column } from '../../parts/List.tsx'
import { ListTools, useListChoice } from '../../parts/ListTools.tsx'
import { Empty, FailedPlace, Outline } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { Why } from '../../parts/Refusals.tsx'
import { onRowLink, rowLink } from '../../parts/row-link.ts'
import { format, t, useReader } from '../../parts/words.ts'
import { shownDay, timesOf } from '../../parts/zoned-day.ts'
import list from '../../style/list.module.css'
import css from './log.module.css'

/** Every filter that the server has for this page; `from` and `to` are days, or times if a chart led here. */
type FilterName = Exclude<keyof LogQuery, 'cursor' | 'limit'>
type LogSearch = Readonly<Partial<Record<FilterName, string | undefined>>>

const STATUSES: readonly GenerationStatus[] = ['completed', 'error', 'cancelled']

const TYPING_MS = 120

/** All requests, newest first. The filters are in the address. */
export function LogPage() {
  const { filters, clear } = useFilters<FilterName>()
  const client = useQueryClient()
  const query = logQuery(filters, format.zone)
  useAsk((wish) => void client.prefetchInfiniteQuery(logPages(logQuery(wish, format.zone))))
  return (
    <Page
      title={t('nav.log')}
      lead={t('log.lead')}
      actions={
        <>
          <Button component={Link} to="/log/refused" variant="default">
            {t('refused.title')}
          </Button>
          <Button
            component="a"
            href={`/cabinet/v1/log.csv?${queryText(query)}`}
            download="log.csv"
            variant="default"
            leftSection={<DownloadIcon size={17} />}
          >
            {t('log.csv')}
          </Button>
        </>
      }
    >
      <LogFilters />
      {Object.keys(query).length > 0 && (
        <div>
          <Press size="xs" variant="subtle" onClick={clear} text={t('log.clear')} />
        </div>
      )}
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

function IdField({ id, change }: { readonly id: string; readonly change: (id: string) => void }) {
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

const PAGE_ROWS = 100
/** The next page is loaded when fewer rows than this are left below. */
const AHEAD_ROWS = 60
const KEPT_MS = 15_000
const ROW_PX = 54
const DENSE_ROW_PX = 34
const PHONE_ROW_PX = 92
/** Rows that are drawn above and below the visible part, so that a fast scroll shows no gap. */
const SPARE_ROWS = 8
const AS_IT_IS = { hidden: [], dense: false }

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
  const pages = useInfiniteQuery({ ...logPages(query), placeholderData: keepPreviousData })
  const asked = useShown(JSON.stringify(query), pages.isPlaceholderData)
  if (pages.isError && pages.data === undefined)
    return <FailedPlace failure={pages.error} retry={() => void pages.refetch()} />
  if (pages.data === undefined) return <Outline height={420} />
  const rows = pages.data.pages.flatMap(({ data }) => data)
  const searchedTo = pages.data.pages.at(-1)?.searched_to ?? null
  if (rows.length === 0 && !pages.hasNextPage)
    return (
      <div className={css.frame}>
        <Empty picture="log" title={t('log.none')} text={t('log.none_text')} />
        {query.id !== undefined && <RefusedRequest id={query.id} />}
      </div>
    )
  return (
    <Rows
      asked={asked}
      rows={rows}
      old={pages.isPlaceholderData}
      more={{
        has: pages.hasNextPage && !pages.isPlaceholderData,
        busy: pages.isFetchingNextPage || pages.isPlaceholderData,
        fetch: () => void pages.fetchNextPage(),
        searchedTo,
      }}
    />
  )
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
        <Why of={found} help />
      </div>
    )
  )
}

interface More {
  readonly has: boolean
  readonly busy: boolean
  readonly fetch: () => void
  /** A long search stopped here; it continues if the user asks for it. null = it did not stop. */
  readonly searchedTo: string | null
}

interface RowsProps {
  /** Identifies the filters of the rows: with other filters the list starts at the top. */
  readonly asked: string
  readonly rows: readonly LogRow[]
  /** The rows belong to the previous filters, since the new answer is not there yet. */
  readonly old: boolean
  readonly more: More
}

function Rows({ asked, rows, old, more }: RowsProps) {
  const reader = useReader()
  const [choice, choose] = useListChoice('log', AS_IT_IS)
  const columns = useMemo(() => columnsOf(), [reader])
  const seen = useMemo(
    () => columns.filter(({ id }, index) => index === 0 || !choice.hidden.includes(id)),
    [columns, choice.hidden],
  )
  const { frame, items, top, last, allPx, rowHeight } = useRowsInSight(rows.length, choice.dense)
  useLayoutEffect(() => {
    if (frame.current !== null) frame.current.scrollTop = 0
  }, [frame, asked])
  const { has, busy, fetch, searchedTo } = more
  const wants = has && !busy && searchedTo === null && last >= rows.length - AHEAD_ROWS
  useEffect(() => {
    if (wants) fetch()
  }, [wants, fetch])
  const navigate = useNavigate()
  const open = onRowLink((id) => void navigate({ to: '/log/$id', params: { id } }))
  return (
    <div className={list.data}>
      <ListTools name="log" columns={columns} seen={seen} rows={rows} choice={choice} choose={choose} file={null} />
      <div
        className={css.frame}
        style={sizesOf({ top, allPx, rowHeight }, seen)}
        role="table"
        aria-label={t('nav.log')}
        aria-rowcount={has ? -1 : rows.length + 1}
        aria-busy={old}
        data-dense={choice.dense}
      >
        <div className={css.head} role="row" aria-rowindex={1}>
          {seen.map(({ id, title, className }) => (
            <span key={id} role="columnheader" className={className}>
              {title}
            </span>
          ))}
        </div>
        <div ref={frame} className={css.scroll} onClick={open} tabIndex={0} role="rowgroup" aria-label={t('nav.log')}>
          <div className={css.all} role="presentation">
            <div className={css.seen} role="presentation">
              {items.map(({ index }) => {
                const row = rows[index]
                return row === undefined ? null : (
                  <Row key={row.generation_id} row={row} index={index + 2} columns={seen} />
                )
              })}
            </div>
          </div>
          <Foot count={rows.length} more={more} />
        </div>
      </div>
    </div>
  )
}

function useRowsInSight(count: number, dense: boolean) {
  const isNarrow = useMediaQuery('(max-width: 700px)') === true
  const rowHeight = isNarrow ? PHONE_ROW_PX : dense ? DENSE_ROW_PX : ROW_PX
  const frame = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: count,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: SPARE_ROWS,
    initialRect: { width: 0, height: ROW_PX * SPARE_ROWS },
  })
  const { measure } = virtual
  useEffect(measure, [measure, rowHeight])
  const items = virtual.getVirtualItems()
  const [top, last] = [items[0]?.start ?? 0, (items.at(-1)?.index ?? -1) + 1]
  return { frame, items, top, last, allPx: virtual.getTotalSize(), rowHeight }
}

function sizesOf(
  { top, allPx, rowHeight }: { readonly top: number; readonly allPx: number; readonly rowHeight: number },
  columns: readonly LogColumn[],
): CSSProperties {
  // The type CSSProperties does not have custom properties.
  return {
    '--all': `${allPx}px`,
    '--top': `${top}px`,
    '--row': `${rowHeight}px`,
    '--columns': columns.map(({ width }) => width).join(' '),
  } as CSSProperties
}

/** What follows the last row: a button for more rows, or the end of the list. */
function Foot({ count, more: { has, busy, fetch, searchedTo } }: { readonly count: number; readonly more: More }) {
  return (
    <div className={css.foot} role="row">
      <span role="cell">
        {busy ? (
          <Loader size="sm" aria-label={t('common.loading')} />
        ) : has ? (
          <Button size="xs" variant="default" onClick={fetch}>
            {searchedTo === null ? t('log.more') : t('log.search_on', { when: format.dateTime(searchedTo) })}
          </Button>
        ) : (
          <Note>{t('log.end', { count, shown: format.number(count) })}</Note>
        )}
      </span>
    </div>
  )
}

interface LogColumn extends Column<LogRow> {
  readonly cell: (row: LogRow) => ReactNode
  /** The width of the grid. */
  readonly width: string
}

function columnsOf(): readonly LogColumn[] {
  return [
    {
      id: 'time',
      title: t('log.time'),
      width: '138px',
      className: css.time,
      cell: (row) => (
        <a href={`/log/${row.generation_id}`} {...rowLink(row.generation_id)} title={format.dateTime(row.at)}>
          <time dateTime={row.at}>{format.moment(row.at)}</time>
        </a>
      ),
    },
    {
      id: 'model',
      title: t('log.model'),
      width: 'minmax(150px, 1fr)',
      className: css.model,
      cell: (row) => <Names row={row} />,
    },
    { id: 'status', title: t('log.status'), width: 'minmax(96px, 150px)', className: css.status, cell: requestEnd },
    {
      id: 'tokens',
      title: t('log.tokens'),
      width: '126px',
      className: css.tokens,
      cell: (row) => `${format.number(row.input_tokens)} → ${format.number(row.output_tokens)}`,
    },
    {
      id: 'duration',
      title: t('log.duration'),
      width: '84px',
      className: css.duration,
      cell: (row) => format.duration(row.duration_ms),
    },
    {
      id: 'cost',
      title: t('log.cost'),
      width: '118px',
      className: css.cost,
      cell: (row) => <Money of={row.cost} />,
    },
  ]
}

function Names({ row }: { readonly row: LogRow }) {
  const rest = [row.key_name, row.app_title ?? row.app_url, row.provider_name]
    .filter((part) => part !== null && part !== '')
    .join(' · ')
  return (
    <>
      <span className={css.line} title={row.model}>
        {row.model}
      </span>
      <span className={css.small} title={rest}>
        {rest}
      </span>
    </>
  )
}

interface RowProps {
  readonly row: LogRow
  readonly index: number
  readonly columns: readonly LogColumn[]
}

/** A row has no hooks and few components, because each change of a filter draws about thirty rows. */
const Row = memo(function Row({ row, index, columns }: RowProps) {
  return (
    <div className={css.row} role="row" aria-rowindex={index}>
      {columns.map(({ id, className, cell }) => (
        <span key={id} role="cell" className={className}>
          {cell(row)}
        </span>
      ))}
    </div>
  )
})
