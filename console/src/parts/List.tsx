import { Button } from '@mantine/core'
import { Link, type LinkProps } from '@tanstack/react-router'
import clsx from 'clsx'
import { isValidElement, memo, type ReactElement, type ReactNode } from 'react'
import type { CsvValue } from '../../../src/base/csv.ts'
import { ownValue } from '../../../src/base/own-value.ts'
import { given } from '../api/endpoint.ts'
import css from '../style/list.module.css'
import { Clip, Moment, Money, StatusBadge, type Tone } from './cells.tsx'
import type { Format } from './format.ts'
import { Empty, type EmptyProps } from './Loaded.tsx'
import { format, t, useReader } from './words.ts'

/**
 * How a number is written; `exact`: money to its last digit; `percent`: 100 is the whole; `share`: 1 is the whole;
 * `speed`: tokens per second.
 */
const NUMBERS = {
  count: (value) => format.number(value),
  compact: (value) => format.compact(value),
  money: (value) => format.money(value),
  exact: (value) => format.exactRubles(value),
  percent: (value) => format.percent(value / 100),
  share: (value) => format.percent(value),
  duration: (value) => format.duration(value),
  speed: (value) => t('request.per_second', { tokens: format.number(value) }),
} as const satisfies Readonly<Record<string, (value: number) => string>>
type CellKind = 'text' | 'clip' | 'mono' | 'moment' | 'date' | 'ago' | keyof typeof NUMBERS
/** Numbers and dates are aligned at the end of their cells. */
const AT_END: ReadonlySet<string> = new Set(['date', 'ago', ...Object.keys(NUMBERS)])

type FieldOf<Row> = { [Name in keyof Row & string]: Row[Name] extends CsvValue ? Name : never }[keyof Row & string]

// @ts-expect-error -- a column of a part of the row is one of the row: its fields are fields of both
export interface Column<in Row> {
  readonly id: string
  /** Absent for a column of buttons. */
  readonly title?: string
  /**
   * What a list of all rows is sorted by, and what a file has: a field or what is made of the row. It is also what is
   * seen, unless there is a `cell`.
   */
  readonly value?: FieldOf<Row> | ((row: Row) => CsvValue)
  readonly as?: CellKind
  /** The value as a word with a colour for its meaning. */
  readonly word?: (row: Row) => readonly [Tone, string]
  /** The link of the value; null = none. */
  readonly to?: (row: Row) => LinkProps | null
  /** A code below the value, and below it other content, both in small type. */
  readonly code?: (row: Row) => string | null
  readonly under?: (row: Row) => ReactNode
  /** Shown in place of a missing value. */
  readonly none?: string
  /** The content of the cell, if the value alone is not enough. */
  readonly cell?: (row: Row) => ReactNode
  readonly acts?: (row: Row) => readonly Act[]
  readonly end?: boolean
  /** The cell takes the whole width of a card on a phone. */
  readonly wide?: boolean
  readonly className?: string | undefined
  /** The whole text of a cell that is cut off. */
  readonly hint?: (row: Row) => string | undefined
  /** The server can sort by it, under the column's id. */
  readonly ordered?: boolean
}

/** A button in a row, another element, or nothing. */
type Act = ButtonAct | ReactElement | false | null
interface ButtonAct {
  readonly label: string
  /** The label with the name of the row, for screen readers. */
  readonly name?: string
  readonly run: () => void
  readonly harmful?: boolean
  readonly variant?: 'subtle' | 'light' | 'filled'
  readonly disabled?: boolean
}

export interface ListProps<Row> {
  /** The accessible name of the table. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Absent = the row's `id`. */
  readonly rowId?: (row: Row) => string | number
  readonly empty: EmptyProps
  readonly dense?: boolean
  readonly order?: ListOrder
}

export type Sorted = 'ascending' | 'descending' | 'none'
const ASCENDING_FIRST: readonly Sorted[] = ['none', 'ascending', 'descending']
const DESCENDING_FIRST: readonly Sorted[] = ['none', 'descending', 'ascending']

/** What the rows are sorted by, and what they may be sorted by. */
export interface ListOrder {
  /** The id of a column, after `-` for the largest first; null = the list's own order. */
  readonly sort: string | null
  readonly setSort: (sort: string | null) => void
  /** null = the list cannot be sorted by the column. */
  readonly of: (column: Column<never>) => Sorted | null
}

/**
 * A table; on a phone each row is a card. The first column names the row. It is for rows that are always few, or for
 * those of a form; for records that become many there is `DataList`.
 */
export function List<Row>({ label, columns, rows, rowId = idOf, empty, dense = false, order }: ListProps<Row>) {
  const words = useReader()
  if (rows.length === 0)
    return (
      <div className={css.frame}>
        <Empty {...empty} />
      </div>
    )
  return (
    <div className={css.frame} role="region" aria-label={label} tabIndex={0}>
      <table className={css.list} role="table" data-dense={dense}>
        <caption className="unseen">{label}</caption>
        <thead className={css.head} role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <Head key={column.id} column={column} order={order} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <ListRow key={rowId(row)} row={row} columns={columns} words={words} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function idOf(row: unknown): string | number {
  // Rows without an id come with a `rowId`.
  return (row as { readonly id: string | number }).id
}

/** The value by which a column is sorted and which a file contains; absent = it has none. */
export function valueOf<Row>({ value, word }: Column<Row>): ((row: Row) => CsvValue) | undefined {
  if (value === undefined) return word && ((row) => word(row)[1])
  // The type FieldOf has only fields with such values.
  return typeof value === 'function' ? value : (row) => row[value] as CsvValue
}

interface ListRowProps<Row> {
  readonly row: Row
  readonly columns: readonly Column<Row>[]
  /** The row is drawn again in others. */
  readonly words: Format
}

/** It is drawn again only when its record or the columns change, so a page with long lists keeps both the same. */
const ListRow = memo(function ListRow<Row>({ row, columns }: ListRowProps<Row>) {
  return (
    <tr role="row">
      {columns.map((column, index) => (
        <td
          key={column.id}
          role="cell"
          data-label={index === 0 ? '' : (column.title ?? '')}
          title={column.hint?.(row)}
          className={clsx(
            isAtEnd(column) && css.end,
            column.wide === true && css.wide,
            index === 0 && css.lead,
            column.className,
          )}
        >
          {drawn(column, row)}
        </td>
      ))}
    </tr>
  )
  // The library's type of a memoised component has no type parameters.
}) as <Row>(props: ListRowProps<Row>) => ReactNode

export function isAtEnd<Row>({ as = 'text', acts, end = acts !== undefined || AT_END.has(as) }: Column<Row>): boolean {
  return end
}

/** The content of a cell: what the column's `cell` returns, its buttons, or its value. */
function drawn<Row>(column: Column<Row>, row: Row) {
  if (column.acts !== undefined) return <Acts acts={column.acts(row)} />
  const { code, under, to } = column
  const link = to?.(row) ?? null
  const face = column.cell === undefined ? valueFace(column, row) : column.cell(row)
  const main = link === null ? face : <Link {...link}>{face}</Link>
  const mark = code?.(row) ?? null
  if (code === undefined && under === undefined) return main
  return (
    <div>
      {main}
      {mark !== null && <div className={clsx(css.under, 'mono')}>{mark}</div>}
      {under !== undefined && <div className={css.under}>{under(row)}</div>}
    </div>
  )
}

function valueFace<Row>(column: Column<Row>, row: Row) {
  const { as = 'text', word, none } = column
  if (word !== undefined) {
    const [tone, text] = word(row)
    return <StatusBadge tone={tone}>{text}</StatusBadge>
  }
  const given = valueOf(column)?.(row) ?? null
  if (given === null) return none ?? (as === 'ago' ? t('keys.never') : AT_END.has(as) ? '–' : '')
  if (as === 'money' && typeof given === 'number') return <Money of={given} />
  if (typeof given === 'number') return (ownValue(NUMBERS, as) ?? NUMBERS.count)(given)
  const text = typeof given === 'object' ? given.decimal : String(given)
  switch (as) {
    case 'clip':
    case 'mono':
      return <Clip text={text} mono={as === 'mono'} />
    case 'moment':
    case 'date':
    case 'ago':
      return <Moment at={text} as={as} />
    default:
      return text
  }
}

function Acts({ acts }: { readonly acts: readonly Act[] }) {
  const shown = acts.filter((act) => act !== false && act !== null)
  if (shown.length === 0) return null
  return (
    <div className={css.acts}>
      {shown.map((act) => {
        if (isValidElement(act)) return act
        const { label, name, run, harmful = false, variant = 'subtle', disabled = false } = act
        return (
          <Button
            key={label}
            size="compact-sm"
            variant={variant}
            disabled={disabled}
            onClick={run}
            {...given({ 'aria-label': name, color: harmful ? 'red' : undefined })}
          >
            {label}
          </Button>
        )
      })}
    </div>
  )
}

function Head<Row>({ column, order }: { readonly column: Column<Row>; readonly order: ListOrder | undefined }) {
  const { title = '', className } = column
  const sorted = order?.of(column) ?? null
  // A column of numbers is first sorted from the largest.
  const steps = isAtEnd(column) ? DESCENDING_FIRST : ASCENDING_FIRST
  const next = steps[(steps.indexOf(sorted ?? 'none') + 1) % steps.length]
  return (
    <th
      scope="col"
      role="columnheader"
      aria-sort={sorted ?? undefined}
      className={clsx(isAtEnd(column) && css.end, className)}
    >
      {title === '' ? (
        <span className="unseen">{t('common.actions')}</span>
      ) : sorted === null ? (
        title
      ) : (
        <button
          type="button"
          className={css.sort}
          onClick={() => order?.setSort(next === 'none' ? null : next === 'ascending' ? column.id : `-${column.id}`)}
        >
          {title}
        </button>
      )}
    </th>
  )
}
