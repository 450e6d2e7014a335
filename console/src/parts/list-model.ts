import {
  columnVisibilityFeature,
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
  useTable,
  type ColumnDef,
} from '@tanstack/react-table'
import { useMemo } from 'react'
import type { CsvValue } from '../../../src/base/csv.ts'
import type { Format } from './format.ts'
import type { Column, ListSorting, Sorted } from './List.tsx'

const features = tableFeatures({
  rowSortingFeature,
  columnVisibilityFeature,
  sortedRowModel: createSortedRowModel(),
})

export interface ListModelOptions<Row> {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** The rows are a page, in the order that the server gave them. */
  readonly paged: boolean
  readonly sort: string | null
  readonly setSort: (sort: string | null) => void
  readonly hidden: readonly string[]
  readonly format: Format
}

export interface ListModel<Row> {
  /** In their order. */
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly sorting: ListSorting<Row>
}

/** The order of the rows, and which columns are seen. */
export function useListModel<Row extends object>(options: ListModelOptions<Row>): ListModel<Row> {
  const { columns, rows, paged, sort, setSort, hidden, format } = options
  const isSortable = ({ value, ordered = false }: Column<Row>): boolean => (paged ? ordered : value !== undefined)
  // The table compares states by their identity.
  const sorting = useMemo(
    () => (sort === null ? [] : [{ id: sort.replace(/^-/, ''), desc: sort.startsWith('-') }]),
    [sort],
  )
  const hiddenIds = hidden.join(' ')
  const columnVisibility = useMemo(() => Object.fromEntries(hiddenIds.split(' ').map((id) => [id, false])), [hiddenIds])
  const table = useTable({
    features,
    columns: columns.map((column): ColumnDef<typeof features, Row> => ({
      id: column.id,
      accessorFn: (row) => sortedValue(column.value?.(row) ?? null),
      enableSorting: isSortable(column),
      sortUndefined: 'last',
      sortDescFirst: column.end === true,
      sortFn: (one, other, id) => compared(one.getValue(id), other.getValue(id), format),
    })),
    data: rows,
    manualSorting: paged,
    state: { sorting, columnVisibility },
    onSortingChange: (change) => {
      const [first] = typeof change === 'function' ? change(sorting) : change
      setSort(first === undefined ? null : `${first.desc ? '-' : ''}${first.id}`)
    },
  })
  const seenIds = table
    .getVisibleLeafColumns()
    .map(({ id }) => id)
    .join(' ')
  const seen = useMemo(() => {
    const ids = new Set(seenIds.split(' '))
    return columns.filter(({ id }) => ids.has(id))
  }, [columns, seenIds])
  return {
    rows: table.getRowModel().rows.map(({ original }) => original),
    columns: seen,
    sorting: {
      of: (column) => (isSortable(column) ? sortedBy(table.getColumn(column.id)?.getIsSorted() ?? false) : null),
      toggle: ({ id }) => table.getColumn(id)?.toggleSorting(),
    },
  }
}

function sortedBy(order: false | 'asc' | 'desc'): Sorted {
  return order === false ? 'none' : order === 'asc' ? 'ascending' : 'descending'
}

/** A missing value is last in either order. */
function sortedValue(value: CsvValue): string | number | undefined {
  if (value === null) return undefined
  if (typeof value === 'object') return Number(value.decimal)
  return typeof value === 'boolean' ? Number(value) : value
}

function compared(one: unknown, other: unknown, format: Format): number {
  return typeof one === 'number' && typeof other === 'number' ? one - other : format.compare(String(one), String(other))
}
