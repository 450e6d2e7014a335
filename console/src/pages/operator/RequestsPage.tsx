import { Button } from '@mantine/core'
import { Link, useRouter, useSearch } from '@tanstack/react-router'
import clsx from 'clsx'
import { useMemo, useState } from 'react'
import type { Generation } from '../../../../src/api/admin/report-contract.ts'
import { Money, requestEnd, Note, Press } from '../../parts/cells.tsx'
import { DataList, type DataListProps } from '../../parts/DataList.tsx'
import { PauseIcon, PlayIcon } from '../../parts/icons.ts'
import { placeOf, useChange, useFilters, useListRead, useShown } from '../../parts/list-place.ts'
import type { Column } from '../../parts/List.tsx'
import { fileAddress } from '../../parts/ListTools.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { onRowLink, rowLink } from '../../parts/row-link.ts'
import { format, t, useReader } from '../../parts/words.ts'
import { OperatorPage } from './OperatorPage.tsx'
import { RequestDrawer } from './requests/RequestDrawer.tsx'
import {
  isFiltered,
  isNumbered,
  PAGE_ROWS,
  queryOf,
  RequestFilters,
  type RequestSearch,
} from './requests/RequestFilters.tsx'
import css from './requests/requests.module.css'

const LIVE_MS = 3_000

/** The log of all accounts. Filters, page and the open request are in the address. */
export function RequestsPage() {
  const search: RequestSearch = useSearch({ strict: false })
  const [paused, setPaused] = useState(false)
  const { clear } = useFilters()
  const change = useChange()
  const { offset } = placeOf(search)
  const live = !paused && offset === 0
  const requests = useListRead(
    'GET /admin/v1/generations',
    (at) => ({ query: { ...queryOf(at, format.zone), limit: PAGE_ROWS, offset: placeOf(at).offset } }),
    live ? { everyMs: LIVE_MS } : {},
  )
  const shown = useShown(search, requests.isPlaceholderData)
  const rows = requests.data?.data ?? []
  const opened = search.request ?? null
  const at = rows.findIndex(({ generation_id: id }) => id === opened)
  const neighbour = (row: Generation | undefined): (() => void) | null =>
    at === -1 || row === undefined ? null : () => change({ request: row.generation_id })
  return (
    <OperatorPage
      title={t('nav.requests')}
      actions={<Actions search={search} clear={clear} live={live} paused={paused} setPaused={setPaused} />}
    >
      <RequestFilters />
      <Loaded of={requests} height={560}>
        {({ data, total, total_exact: exact, searched_to: searchedTo }) => (
          <>
            <RequestRows
              rows={data}
              page={{ total, size: PAGE_ROWS, atLeast: exact === false, deep: isNumbered(shown) }}
              search={shown}
              opened={opened}
              open={(id) => change({ request: id }, false)}
            />
            {searchedTo !== undefined && (
              <Note>{t('requests.searched_to', { when: format.dateTime(searchedTo) })}</Note>
            )}
          </>
        )}
      </Loaded>
      <RequestDrawer
        id={opened}
        close={() => change({ request: null })}
        previous={neighbour(rows[at - 1])}
        next={neighbour(rows[at + 1])}
      />
    </OperatorPage>
  )
}

interface ActionsProps {
  readonly search: RequestSearch
  readonly clear: () => void
  readonly live: boolean
  readonly paused: boolean
  readonly setPaused: (paused: boolean) => void
}

/** The buttons beside the heading: clear the filters, pause, and whether the list updates itself. */
function Actions({ search, clear, live, paused, setPaused }: ActionsProps) {
  return (
    <>
      <Button component={Link} to="/operator/refusals" size="xs" variant="default">
        {t('refused.title')}
      </Button>
      {isFiltered(search) && <Press size="xs" variant="subtle" onClick={clear} text={t('log.clear')} />}
      <Button
        size="xs"
        variant="default"
        aria-pressed={paused}
        disabled={placeOf(search).offset > 0}
        leftSection={paused ? <PlayIcon size={15} /> : <PauseIcon size={15} />}
        onClick={() => setPaused(!paused)}
      >
        {t(paused ? 'requests.resume' : 'requests.pause')}
      </Button>
      <span className={css.live} data-live={live} role="status">
        {t(live ? 'requests.live' : 'requests.paused')}
      </span>
    </>
  )
}

const ADDRESS = '/operator/requests'
const HIDDEN = ['provider', 'key', 'input', 'output', 'id']

interface RequestRowsProps {
  readonly rows: readonly Generation[]
  readonly page: NonNullable<DataListProps<Generation>['page']>
  /** The filters for which the rows were loaded. */
  readonly search: RequestSearch
  readonly opened: string | null
  readonly open: (id: string) => void
}

/** One line for each request, so that twenty fit on a screen. A line is a link that opens its request. */
function RequestRows({ rows, page, search, opened, open }: RequestRowsProps) {
  const router = useRouter()
  const reader = useReader()
  const query = queryOf(search, format.zone)
  const columns = useMemo(() => {
    const addressOf = (id: string): string => `${ADDRESS}${router.options.stringifySearch({ ...search, request: id })}`
    return columnsOf(addressOf)
  }, [reader, router, search])
  // Rows that arrive after the first answer for these filters are highlighted once.
  const [known] = useState(() => Math.max(0, ...rows.map(({ id }) => id)))
  return (
    <div onClick={onRowLink(open)}>
      <DataList
        name="requests"
        label={t('nav.requests')}
        rows={rows}
        page={page}
        file={fileAddress('GET /admin/v1/generations', { query })}
        empty={{ picture: 'log', title: t('log.none'), text: t('requests.none_text') }}
        tools="below"
        denseAtFirst
        hiddenAtFirst={HIDDEN}
        look={css.rows}
        rowClass={(row) => clsx(row.generation_id === opened && css.opened, row.id > known && css.fresh)}
        columns={columns}
      />
    </div>
  )
}

// oxlint-disable-next-line eslint/max-lines-per-function -- the columns of a list
function columnsOf(addressOf: (id: string) => string): readonly Column<Generation>[] {
  return [
    {
      id: 'time',
      title: t('log.time'),
      className: css.time,
      value: 'timestamp',
      // The link covers the whole line.
      cell: (row) => (
        <a
          href={addressOf(row.generation_id)}
          {...rowLink(row.generation_id)}
          className={css.open}
          aria-label={`${format.dateTime(row.timestamp)}, ${row.model_name}`}
          title={format.dateTime(row.timestamp)}
        >
          <time dateTime={row.timestamp}>{format.moment(row.timestamp)}</time>
        </a>
      ),
    },
    {
      id: 'model',
      title: t('usage.model'),
      className: css.model,
      hint: (row) => row.model_name,
      value: 'model_name',
      cell: (row) => (
        <>
          {row.model_name} <span className={css.by}>{row.provider_name}</span>
        </>
      ),
    },
    { id: 'provider', title: t('log.filter_provider'), value: 'provider_name' },
    {
      id: 'account',
      title: t('requests.account'),
      className: css.account,
      hint: (row) => `${row.account_name} · ${row.key_name}`,
      value: (row) => (row.account_name === '' ? row.account : row.account_name),
      cell: (row) => (
        <>
          {row.account_name === '' ? row.account : row.account_name} <span className={css.by}>{row.key_name}</span>
        </>
      ),
    },
    { id: 'key', title: t('usage.key'), value: 'key_name' },
    {
      id: 'status',
      title: t('log.status'),
      className: css.status,
      value: ({ status, error_type: type }) => (status === 'error' ? (type ?? status) : status),
      cell: outcome,
    },
    {
      id: 'tokens',
      title: t('log.tokens'),
      className: css.tokens,
      cell: (row) => `${format.number(row.input_tokens)} → ${format.number(row.output_tokens)}`,
    },
    { id: 'input', title: t('usage.input_tokens'), as: 'count', className: css.tokens, value: 'input_tokens' },
    { id: 'output', title: t('usage.output_tokens'), as: 'count', className: css.tokens, value: 'output_tokens' },
    { id: 'duration', title: t('log.duration'), as: 'duration', className: css.duration, value: 'duration_ms' },
    { id: 'cost', title: t('margin.provider_cost'), className: css.cost, as: 'money', value: 'provider_cost' },
    {
      id: 'revenue',
      title: t('margin.revenue'),
      className: css.revenue,
      hint: ({ shortfall }) =>
        shortfall > 0 ? t('requests.shortfall', { amount: format.money(shortfall) }) : undefined,
      value: 'total_cost',
      cell: (row) => (
        <>
          <Money of={row.total_cost} />
          {row.shortfall > 0 && <span className={css.mark}>−</span>}
        </>
      ),
    },
    { id: 'id', title: t('log.filter_id'), value: 'generation_id' },
  ]
}

function outcome(row: Generation) {
  return (
    <>
      {row.status === 'completed' ? <span className={css.done}>{t('status.completed')}</span> : requestEnd(row)}
      {row.flagged && (
        <span className={css.mark} title={t('requests.flagged')}>
          !<span className="unseen">{t('requests.flagged')}</span>
        </span>
      )}
    </>
  )
}
