import clsx from 'clsx'
import type { ReactNode } from 'react'
import css from '../style/list.module.css'
import { Empty, type EmptyProps } from './Loaded.tsx'

export interface Column<Row> {
  readonly id: string
  /** Empty for a column of buttons. */
  readonly title: string
  readonly cell: (row: Row) => ReactNode
  /** Numbers are aligned at the end of the cell. */
  readonly end?: boolean
}

export interface ListProps<Row> {
  /** Said to screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowId: (row: Row) => string | number
  readonly empty: EmptyProps
}

/** A table; on a phone each row is a card. The first column names the row. */
export function List<Row>({ label, columns, rows, rowId, empty }: ListProps<Row>): ReactNode {
  if (rows.length === 0)
    return (
      <div className={css.frame}>
        <Empty {...empty} />
      </div>
    )
  return (
    <div className={css.frame} role="region" aria-label={label} tabIndex={0}>
      <table className={css.list} role="table">
        <caption className={css.caption}>{label}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ id, title, end }) => (
              <th key={id} scope="col" role="columnheader" className={clsx(end === true && css.end)}>
                {title === '' ? <span className={css.caption}>{id}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={rowId(row)} role="row">
              {columns.map(({ id, title, cell, end }, index) => (
                <td
                  key={id}
                  role="cell"
                  data-label={index === 0 ? '' : title}
                  className={clsx(end === true && css.end, index === 0 && css.lead)}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
