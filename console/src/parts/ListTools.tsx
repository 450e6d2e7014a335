import { Button } from '@mantine/core'
import clsx from 'clsx'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import css from '../style/list.module.css'
import { DownloadIcon } from './icons.ts'
import { saveCsv } from './list-csv.ts'
import type { ListChoice } from './list-choice.ts'
import type { ListModel } from './list-model.ts'
import type { Column } from './List.tsx'
import { ListView } from './ListView.tsx'

export interface ListToolsProps<Row> {
  readonly name: string
  /** All, also those that are not seen. */
  readonly columns: readonly Column<Row>[]
  readonly model: ListModel<Row>
  readonly choice: ListChoice
  readonly choose: (change: Partial<ListChoice>) => void
  readonly sort: string | null
  readonly setSort: (sort: string | null) => void
  /** The address of the server's file; absent = the rows are all here; null = it stands elsewhere on the page. */
  readonly file?: string | null | undefined
}

/** What a list is seen by, above it: its file, its order, its columns and the height of its rows. */
export function ListTools<Row>({
  name,
  columns,
  model,
  choice,
  choose,
  sort,
  setSort,
  file,
}: ListToolsProps<Row>): ReactNode {
  const sortable = columns.filter((column) => model.sorting.of(column) !== null)
  const hideable = columns.filter(({ title }, index) => index > 0 && title !== '')
  return (
    <div className={clsx(css.tools, 'off-paper')}>
      {file !== null && <CsvButton name={name} model={model} file={file} />}
      <ListView sortable={sortable} hideable={hideable} choice={choice} choose={choose} sort={sort} setSort={setSort} />
    </div>
  )
}

/** A file of what is filtered: the server's, or one of the rows that are here, with the columns that are seen. */
function CsvButton<Row>({
  name,
  model,
  file,
}: Pick<ListToolsProps<Row>, 'name' | 'model'> & { readonly file: string | undefined }): ReactNode {
  const { t } = useTranslation()
  const look = {
    size: 'compact-sm',
    variant: 'subtle',
    color: 'gray',
    leftSection: <DownloadIcon size={15} />,
  } as const
  return file === undefined ? (
    <Button {...look} title={t('list.csv_here')} onClick={() => saveCsv(name, model.columns, model.rows)}>
      {t('list.csv')}
    </Button>
  ) : (
    <Button {...look} component="a" href={file} download title={t('list.csv_whole')}>
      {t('list.csv')}
    </Button>
  )
}
