import { Button, Loader, Text } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { TFunction } from 'i18next'
import { memo, useEffect, type CSSProperties, type MouseEvent, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { LogQuery, LogRow } from '../../../../src/cabinet/log-contract.ts'
import { call } from '../../api/call.ts'
import { errorName } from '../../parts/failure-text.ts'
import { Empty, Failed, Outline } from '../../parts/Loaded.tsx'
import { StatusBadge, type Tone } from '../../parts/StatusBadge.tsx'
import type { Format } from '../../parts/format.ts'
import { useFormat } from '../../parts/use-format.ts'
import { useVisibleRows } from '../../parts/use-visible-rows.ts'
import css from './log.module.css'

const PAGE_ROWS = 100
/** The next page is loaded when fewer rows than this are left below. */
const AHEAD_ROWS = 100
const KEPT_MS = 15_000
const TONES: Readonly<Record<LogRow['status'], Tone>> = { completed: 'good', error: 'bad', cancelled: 'quiet' }

/**
 * The log as one long list. Scrolling loads the next page, and the document contains only the visible rows.
 */
export function LogRows({ query }: { readonly query: LogQuery }): ReactNode {
  const { t } = useTranslation()
  const pages = useInfiniteQuery({
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
    placeholderData: keepPreviousData,
    // No page is loaded again. A user who returns soon finds the list as it was; later it starts with its first page.
    staleTime: Infinity,
    gcTime: KEPT_MS,
  })
  if (pages.isError && pages.data === undefined)
    return <Failed failure={pages.error} retry={() => void pages.refetch()} />
  if (pages.data === undefined) return <Outline height={420} />
  const rows = pages.data.pages.flatMap(({ data }) => data)
  const searchedTo = pages.data.pages.at(-1)?.searched_to ?? null
  if (rows.length === 0 && !pages.hasNextPage)
    return (
      <div className={css.frame}>
        <Empty title={t('log.none')} text={t('log.none_text')} />
      </div>
    )
  return (
    <Rows
      key={JSON.stringify(query)}
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

interface More {
  readonly has: boolean
  readonly busy: boolean
  readonly fetch: () => void
  /** A long search stopped here. It continues when the user asks for it. */
  readonly searchedTo: string | null
}

interface RowsProps {
  readonly rows: readonly LogRow[]
  /** The rows belong to the filters before; the new answer is not there yet. */
  readonly old: boolean
  readonly more: More
}

function Rows({ rows, old, more }: RowsProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const navigate = useNavigate()
  const { frame, onScroll, first, last, rowHeight } = useVisibleRows(rows.length)
  const { has, busy, fetch, searchedTo } = more
  const wants = has && !busy && searchedTo === null && last >= rows.length - AHEAD_ROWS
  useEffect(() => {
    if (wants) fetch()
  }, [wants, fetch])
  const open = (event: MouseEvent): void => {
    const id = event.target instanceof Element ? event.target.closest('a')?.dataset['generation'] : undefined
    // The browser itself opens a new tab or window.
    if (id === undefined || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return
    event.preventDefault()
    void navigate({ to: '/log/$id', params: { id } })
  }
  // The type CSSProperties does not have custom properties.
  const sizes = { '--rows': rows.length, '--first': first, '--row': `${rowHeight}px` } as CSSProperties
  return (
    <div
      className={css.frame}
      role="table"
      aria-label={t('nav.log')}
      aria-rowcount={has ? -1 : rows.length + 1}
      aria-busy={old}
    >
      <div className={css.head} role="row" aria-rowindex={1}>
        {(['time', 'model', 'status', 'tokens', 'duration', 'cost'] as const).map((name) => (
          <span key={name} role="columnheader" className={css[name]}>
            {t(`log.${name}`)}
          </span>
        ))}
      </div>
      <div
        ref={frame}
        className={css.scroll}
        onScroll={onScroll}
        onClick={open}
        tabIndex={0}
        role="rowgroup"
        aria-label={t('nav.log')}
      >
        <div className={css.all} style={sizes} role="presentation">
          <div className={css.seen} role="presentation">
            {rows.slice(first, last).map((row, index) => (
              <Row key={row.generation_id} row={row} index={first + index + 2} t={t} format={format} />
            ))}
          </div>
        </div>
        <div className={css.foot} role="row">
          <span role="cell">
            {busy ? (
              <Loader size="sm" aria-label={t('common.loading')} />
            ) : has ? (
              <Button size="xs" variant="default" onClick={fetch}>
                {searchedTo === null ? t('log.more') : t('log.search_on', { when: format.dateTime(searchedTo) })}
              </Button>
            ) : (
              <Text size="sm" c="dimmed">
                {t('log.end', { count: rows.length, shown: format.number(rows.length) })}
              </Text>
            )}
          </span>
        </div>
      </div>
    </div>
  )
}

interface RowProps {
  readonly row: LogRow
  readonly index: number
  readonly t: TFunction
  readonly format: Format
}

/** A row has no hooks and few components, because each change of a filter draws about thirty rows. */
const Row = memo(function Row({ row, index, t, format }: RowProps): ReactNode {
  return (
    <div className={css.row} role="row" aria-rowindex={index}>
      <span role="cell" className={css.time}>
        <a href={`/log/${row.generation_id}`} data-generation={row.generation_id}>
          <time dateTime={row.at}>{format.dateTime(row.at)}</time>
        </a>
      </span>
      <span role="cell" className={css.model}>
        <span className={css.line}>{row.model}</span>
        <span className={css.small}>
          {[row.key_name, row.app_title ?? row.app_url, row.provider_name]
            .filter((part) => part !== null && part !== '')
            .join(' · ')}
        </span>
      </span>
      <span role="cell" className={css.status}>
        <StatusBadge tone={TONES[row.status]}>
          {row.status === 'error' && row.error_type !== null ? errorName(row.error_type) : t(`status.${row.status}`)}
        </StatusBadge>
      </span>
      <span role="cell" className={css.tokens}>
        {format.number(row.input_tokens)} → {format.number(row.output_tokens)}
      </span>
      <span role="cell" className={css.duration}>
        {format.duration(row.duration_ms)}
      </span>
      <span role="cell" className={css.cost}>
        {format.money(row.cost)}
      </span>
    </div>
  )
})
