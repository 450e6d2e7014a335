import clsx from 'clsx'
import { memo, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { CsvValue } from '../../../src/base/csv.ts'
import css from '../style/list.module.css'
import { Empty, type EmptyProps } from './Loaded.tsx'

export interface Column<Row> {
  readonly id: string
  /** Empty for a column of buttons. */
  readonly title: string
  readonly cell: (row: Row) => ReactNode
  /** Numbers are aligned at the end of the cell. */
  readonly end?: boolean
  /** Takes the whole width of a card on a phone. */
  readonly wide?: boolean
  readonly className?: string | undefined
  /** The whole text of a cell that is cut off. */
  readonly hint?: (row: Row) => string | undefined
  /** What a list of all rows is sorted by, and what a file has; a column of buttons has none. */
  readonly value?: (row: Row) => CsvValue
  /** The server can sort by it, under the column's id. */
  readonly ordered?: boolean
}

export interface ListProps<Row> {
  /** Said to screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowId: (row: Row) => string | number
  readonly empty: EmptyProps
}

/** The styles of a list with a form of its own. */
export interface ListLook {
  readonly frame: string | undefined
  readonly list: string | undefined
}

export type Sorted = 'ascending' | 'descending' | 'none'

export interface ListSorting<Row> {
  /** null = the list cannot be sorted by the column. */
  readonly of: (column: Column<Row>) => Sorted | null
  readonly toggle: (column: Column<Row>) => void
}

export interface ListTableProps<Row> extends ListProps<Row> {
  readonly dense?: boolean
  readonly look?: ListLook
  readonly rowClass?: (row: Row) => string | undefined
  readonly sorting?: ListSorting<Row>
}

/**
 * Rows that are few by nature, or those of a form. Records that grow are a `DataList`; a test names the pages with this
 * one.
 */
export function List<Row>(props: ListProps<Row>): ReactNode {
  return <ListTable {...props} />
}

/** A table; on a phone each row is a card. The first column names the row. */
export function ListTable<Row>({
  label,
  columns,
  rows,
  rowId,
  empty,
  dense = false,
  look = { frame: css.frame, list: css.list },
  rowClass,
  sorting,
}: ListTableProps<Row>): ReactNode {
  if (rows.length === 0)
    return (
      <div className={look.frame}>
        <Empty {...empty} />
      </div>
    )
  return (
    <div className={look.frame} role="region" aria-label={label} tabIndex={0}>
      <table className={look.list} role="table" data-dense={dense}>
        <caption className={css.caption}>{label}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <Head key={column.id} column={column} sorting={sorting} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <ListRow key={rowId(row)} row={row} columns={columns} look={rowClass?.(row)} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface ListRowProps<Row> {
  readonly row: Row
  readonly columns: readonly Column<Row>[]
  readonly look: string | undefined
}

/** It is drawn again when its record or the columns change: a page with long lists keeps both. */
const ListRow = memo(function ListRow<Row>({ row, columns, look }: ListRowProps<Row>): ReactNode {
  return (
    <tr role="row" className={look}>
      {columns.map(({ id, title, cell, end, wide, className, hint }, index) => (
        <td
          key={id}
          role="cell"
          data-label={index === 0 ? '' : title}
          title={hint?.(row)}
          className={clsx(end === true && css.end, wide === true && css.wide, index === 0 && css.lead, className)}
        >
          {cell(row)}
        </td>
      ))}
    </tr>
  )
  // The library's type of a memoised component has no type parameters.
}) as <Row>(props: ListRowProps<Row>) => ReactNode

function Head<Row>({
  column,
  sorting,
}: {
  readonly column: Column<Row>
  readonly sorting: ListSorting<Row> | undefined
}): ReactNode {
  const { t } = useTranslation()
  const { title, end, className } = column
  const sorted = sorting?.of(column) ?? null
  return (
    <th
      scope="col"
      role="columnheader"
      aria-sort={sorted ?? undefined}
      className={clsx(end === true && css.end, className)}
    >
      {title === '' ? (
        <span className={css.caption}>{t('common.actions')}</span>
      ) : sorted === null ? (
        title
      ) : (
        <button type="button" className={css.sort} onClick={() => sorting?.toggle(column)}>
          {title}
        </button>
      )}
    </th>
  )
}
