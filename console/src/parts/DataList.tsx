import { Button, Group, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useMemo, useSyncExternalStore } from 'react'
import type { CsvValue } from '../../../src/base/csv.ts'
import { PAGE_DEPTH_MAX } from '../../../src/base/query-parameters.ts'
import { given, type Answer, type Input, type QueryOf, type ReadEndpoint } from '../api/endpoint.ts'
import css from '../style/list.module.css'
import { List, type Column, type ListOrder, type ListProps, valueOf } from './List.tsx'
import { fileAddress, ListTools, useListChoice } from './ListTools.tsx'
import { type Filter, Filters, filtersAt } from './Filters.tsx'
import { placeOf, type Search, sortOf, useListPlace, useListRead } from './list-place.ts'
import { Loaded } from './Loaded.tsx'
import { logTimes, RangeFields, useLogRange } from './RangeFields.tsx'
import { format, t } from './words.ts'
import { Note } from './cells.tsx'

/** Rows per page, for pages of the server and of the browser. */
export const PAGE_ROWS = 50
const NOTHING: readonly string[] = []

/** A page that the server returned. */
interface ListPage {
  readonly total: number
  readonly atLeast?: boolean
  /** Any page can be requested; absent = only the first ones. */
  readonly deep?: boolean
}

export interface DataListProps<Row> extends Omit<ListProps<Row>, 'dense' | 'order'> {
  /** The name under which the browser stores its settings, and the name of its files. */
  readonly name: string
  /**
   * The page of the server that the rows are; absent = these are all rows, or the first rows of a list that grows at
   * its end.
   */
  readonly page?: ListPage
  /** The address of a file of all rows, if `rows` are not all. */
  readonly file?: string
  /** The prefix of its parameters in the address, unless it is the page's only list. */
  readonly prefix?: string
  /** The rows are the first ones of a list that grows at its end and can only have the server's order. */
  readonly begun?: boolean
  /** Every row is printed. */
  readonly printed?: boolean
  /** The order until the user chooses one: the id of a column, after `-` for the largest first. */
  readonly sortAtFirst?: string
  /** Columns that are hidden until the user chooses them. */
  readonly hiddenAtFirst?: readonly string[]
}

/**
 * A list that can be sorted and saved as a file, and whose columns and row height can be chosen. Its order and page are
 * in the address.
 */
export function DataList<Row extends object>({
  name,
  page,
  file,
  prefix = '',
  begun = false,
  printed = false,
  sortAtFirst,
  hiddenAtFirst = NOTHING,
  ...list
}: DataListProps<Row>) {
  const { sort: wish, offset, go } = useListPlace(prefix)
  const sort = wish ?? sortAtFirst ?? null
  const [choice, choose] = useListChoice(name, { hidden: hiddenAtFirst, dense: false })
  // Row components keep the same columns until one is hidden or shown. The first column names the row.
  const seen = useMemo(
    () => list.columns.filter(({ id }, index) => index === 0 || !choice.hidden.includes(id)),
    [list.columns, choice.hidden],
  )
  const isPaged = page !== undefined || begun
  const order: ListOrder = {
    sort,
    setSort: (next) => go({ sort: next, offset: 0 }),
    of: (column) => {
      if (isPaged ? column.ordered !== true : valueOf(column) === undefined) return null
      return sort === column.id ? 'ascending' : sort === `-${column.id}` ? 'descending' : 'none'
    },
  }
  const ordered = isPaged ? list.rows : sortedRows(list.rows, list.columns, order)
  const total = page?.total ?? ordered.length
  // If a list that is all here no longer has this page, its first page is shown.
  const first = page === undefined && offset >= total ? 0 : offset
  const isWhole = usePaper() && printed
  const rows = isPaged || isWhole ? ordered : ordered.slice(first, first + PAGE_ROWS)
  return (
    <div className={css.data}>
      {rows.length > 0 && (
        <ListTools
          name={name}
          columns={list.columns}
          seen={seen}
          rows={ordered}
          choice={choice}
          choose={choose}
          order={order}
          file={file}
        />
      )}
      <List {...list} columns={seen} rows={rows} dense={choice.dense} order={order} />
      {!begun && (
        <div className={`${css.below} off-paper`}>
          <Pager
            offset={first}
            size={PAGE_ROWS}
            total={total}
            go={(to) => go({ offset: to })}
            atLeast={page?.atLeast ?? false}
            deep={page === undefined || page.deep === true}
          />
        </div>
      )}
    </div>
  )
}

/** A list of everything that an endpoint returns, with the loading, failed and empty states. */
export function ReadList<Row extends object>({
  of,
  height = 240,
  ...list
}: Omit<DataListProps<Row>, 'rows'> & {
  readonly of: UseQueryResult<{ readonly data: readonly Row[] }>
  readonly height?: number
}) {
  return (
    <Loaded of={of} height={height}>
      {({ data }) => <DataList {...list} rows={data} />}
    </Loaded>
  )
}

/** The endpoints that return a page of rows and the number of all rows. */
type ListEndpoint = {
  [E in ReadEndpoint]: Answer<E> extends { readonly data: readonly object[]; readonly total: number } ? E : never
}[ReadEndpoint]
type RowOf<E extends ListEndpoint> = Answer<E>['data'][number]
interface Listed<Row> {
  readonly data: readonly Row[]
  readonly total: number
  readonly total_exact?: false
}
type Asked<E extends ListEndpoint> = Omit<NonNullable<QueryOf<E>>, 'limit' | 'offset' | 'sort' | 'format'>

export type ServerListProps<E extends ListEndpoint> = Omit<DataListProps<RowOf<E>>, 'rows' | 'page' | 'file'> & {
  readonly read: E
  readonly params?: Readonly<Record<string, string>>
  /** Filters above the list; each is a parameter of the address and of the query. */
  readonly filters?: readonly (Filter & { readonly name: keyof Asked<E> & string })[]
  /** The days of its rows can be chosen. */
  readonly days?: boolean
  /** Further parameters of the query for an address, besides the filters, the order and the page. */
  readonly query?: (search: Search) => { readonly [Name in keyof Asked<E>]?: Asked<E>[Name] | undefined }
  readonly everyMs?: number
  /** Any page can be requested. */
  readonly deep?: boolean
  /** If all rows fit on one page, the browser sorts them. */
  readonly small?: boolean
  readonly height?: number
}

/** A list that the server pages, sorts and writes as a file. */
export function ServerList<E extends ListEndpoint>({
  read,
  params = {},
  filters = [],
  days = false,
  query = () => ({}),
  everyMs,
  deep = false,
  small = false,
  height = 360,
  ...list
}: ServerListProps<E>) {
  const search: Search = useSearch({ strict: false })
  const range = useLogRange()
  const sorts = list.columns.filter(({ ordered = false }) => ordered).map(({ id }) => id)
  const wishOf = (at: Search): object =>
    given({ ...filtersAt(filters, at), ...query(at), ...(days ? logTimes(at) : {}) })
  // These parts form an input of this endpoint.
  const inputOf = (at: Search, page: object): Input<E> =>
    ({
      params,
      query: given({ ...wishOf(at), ...sortOf(sorts, placeOf(at).sort), ...page }),
    }) as unknown as Input<E>
  const paged = (at: Search): Input<E> => inputOf(at, { limit: PAGE_ROWS, offset: placeOf(at).offset })
  const answer = useListRead(read, paged, given({ everyMs }))
  return (
    <>
      <Filters of={filters}>{days && <RangeFields {...range} />}</Filters>
      <Loaded of={answer} height={height}>
        {({ data, total, total_exact: exact }: Listed<RowOf<E>>) => {
          const rest =
            small && total <= PAGE_ROWS
              ? {}
              : { page: { total, deep, atLeast: exact === false }, file: fileAddress(read, inputOf(search, {})) }
          const isPart = Object.keys(wishOf(search)).length > 0
          const empty = isPart ? { ...list.empty, text: t('list.none_so') } : list.empty
          return <DataList {...list} empty={empty} rows={data} {...rest} />
        }}
      </Loaded>
    </>
  )
}

/** A missing value comes last in both orders. */
function sortedRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], order: ListOrder): readonly Row[] {
  const by = columns.find((column) => !['none', null].includes(order.of(column)))
  const valueOfRow = by && valueOf(by)
  if (valueOfRow === undefined) return rows
  const isFalling = order.sort?.startsWith('-') === true
  const keyed = rows.map((row) => ({ row, key: sortKey(valueOfRow(row)) }))
  const known = keyed.filter(({ key }) => key !== null)
  const sorted = known.toSorted(({ key: one }, { key: other }) => {
    const order =
      typeof one === 'number' && typeof other === 'number' ? one - other : format.compare(String(one), String(other))
    return isFalling ? -order : order
  })
  return [...sorted, ...keyed.filter(({ key }) => key === null)].map(({ row }) => row)
}

function sortKey(value: CsvValue): string | number | null {
  if (value === null) return null
  if (typeof value === 'object') return Number(value.decimal)
  return typeof value === 'boolean' ? Number(value) : value
}

interface PagerProps {
  readonly offset: number
  readonly size: number
  readonly total: number
  readonly go: (offset: number) => void
  /** The list has more rows than `total`. */
  readonly atLeast?: boolean
  /** Any page can be requested. */
  readonly deep?: boolean
}

/** Buttons to the next and the previous page of a list. A list with only one page has none. */
export function Pager({ offset, size, total, go, atLeast = false, deep = false }: PagerProps) {
  if (total <= size && offset === 0) return null
  const next = offset + size
  const isDeepest = !deep && next > PAGE_DEPTH_MAX && next < total
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {t(atLeast ? 'requests.at_least' : 'common.shown', {
          from: format.number(Math.min(offset + 1, total)),
          to: format.number(Math.min(offset + size, total)),
          total: format.number(total),
        })}
      </Text>
      <Group gap="xs">
        <Button size="xs" variant="default" disabled={offset === 0} onClick={() => go(Math.max(0, offset - size))}>
          {t('common.previous')}
        </Button>
        {isDeepest && <Note>{t('list.deepest')}</Note>}
        <Button size="xs" variant="default" disabled={isDeepest || next >= total} onClick={() => go(next)}>
          {t('common.next')}
        </Button>
      </Group>
    </Group>
  )
}

const paper = window.matchMedia('print')

/** Whether the page is being printed. React renders the change before the browser goes on to print. */
function usePaper(): boolean {
  return useSyncExternalStore(subscribe, () => paper.matches)
}

function subscribe(changed: () => void): () => void {
  paper.addEventListener('change', changed)
  return () => paper.removeEventListener('change', changed)
}
