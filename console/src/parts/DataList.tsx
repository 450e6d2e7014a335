import clsx from 'clsx'
import type { ReactNode } from 'react'
import css from '../style/list.module.css'
import { useListChoice } from './list-choice.ts'
import { useListModel } from './list-model.ts'
import { useListPlace } from './list-place.ts'
import { ListTable, type ListProps, type ListTableProps } from './List.tsx'
import { ListTools } from './ListTools.tsx'
import { Pager } from './Pager.tsx'
import { useFormat } from './use-format.ts'
import { usePaper } from './use-paper.ts'

/** Rows of a page, of the server's and of ours. */
export const PAGE_ROWS = 50
const NOTHING: readonly string[] = []

/** A page of the server's. */
export interface ListPage {
  readonly total: number
  /** Rows; absent = `PAGE_ROWS`. */
  readonly size?: number
  readonly atLeast?: boolean
  /** Any page can be asked for; absent = only the first ones. */
  readonly deep?: boolean
}

export interface DataListProps<Row> extends ListProps<Row> {
  /** Of its choices in the browser, and of its files. */
  readonly name: string
  /** The server's page that the rows are; absent = the rows are all, or a beginning to which more are added below. */
  readonly page?: ListPage
  /** The address of a file of all rows, where `rows` are not all. */
  readonly file?: string
  /** What stands before its parameters in the address, if it is not the only list of the page. */
  readonly prefix?: string
  /** A beginning: more rows are added below, and the list has no order but its own. */
  readonly begun?: boolean
  /** On paper it has every row. */
  readonly printed?: boolean
  readonly denseAtFirst?: boolean
  /** Columns that are not seen before they are chosen. */
  readonly hiddenAtFirst?: readonly string[]
  /** A form of its own. */
  readonly own?: Pick<ListTableProps<Row>, 'look' | 'rowClass'>
  /** Below saves the height of a line. */
  readonly tools?: 'above' | 'below'
}

/**
 * A list that is sorted, whose columns and height of rows are chosen, and that can be saved as a file. Its order and
 * page are in the address.
 */
export function DataList<Row extends object>({
  name,
  page,
  file,
  prefix = '',
  begun = false,
  printed = false,
  denseAtFirst = false,
  hiddenAtFirst = NOTHING,
  tools = 'above',
  own,
  ...list
}: DataListProps<Row>): ReactNode {
  const format = useFormat()
  const { sort, offset, go } = useListPlace(prefix)
  const setSort = (wish: string | null): void => go({ sort: wish, offset: 0 })
  const [choice, choose] = useListChoice(name, { hidden: hiddenAtFirst, dense: denseAtFirst })
  const model = useListModel({
    columns: list.columns,
    rows: list.rows,
    paged: page !== undefined || begun,
    sort,
    setSort,
    // The first column names the row.
    hidden: choice.hidden.filter((id) => id !== list.columns[0]?.id),
    format,
  })
  const total = page?.total ?? model.rows.length
  // A page that is there no more is the last one that is.
  const first = page === undefined && offset >= total ? 0 : offset
  const isWhole = usePaper() && printed
  const rows = page === undefined && !begun && !isWhole ? model.rows.slice(first, first + PAGE_ROWS) : model.rows
  const toolbar = rows.length > 0 && (
    <ListTools
      name={name}
      columns={list.columns}
      model={model}
      choice={choice}
      choose={choose}
      sort={sort}
      setSort={setSort}
      file={file}
    />
  )
  return (
    <div className={css.data}>
      {tools === 'above' && toolbar}
      <ListTable {...list} columns={model.columns} rows={rows} dense={choice.dense} sorting={model.sorting} {...own} />
      {(!begun || tools === 'below') && (
        <div className={clsx(css.below, 'off-paper')}>
          {tools === 'below' && toolbar}
          {!begun && (
            <Pager
              offset={first}
              size={page?.size ?? PAGE_ROWS}
              total={total}
              go={(wish) => go({ offset: wish })}
              atLeast={page?.atLeast ?? false}
              deep={page === undefined || page.deep === true}
            />
          )}
        </div>
      )}
    </div>
  )
}
