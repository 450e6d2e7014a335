import { Button, Checkbox, NativeSelect, Popover, Stack, Switch } from '@mantine/core'
import clsx from 'clsx'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import css from '../style/list.module.css'
import { ColumnsIcon, DownloadIcon } from './icons.ts'
import { saveCsv } from './list-csv.ts'
import type { ListChoice } from './list-choice.ts'
import type { ListModel } from './list-model.ts'
import type { Column } from './List.tsx'

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
  const { t } = useTranslation()
  const sortable = columns.filter((column) => model.sorting.of(column) !== null)
  const hideable = columns.filter(({ title }, index) => index > 0 && title !== '')
  return (
    <div className={clsx(css.tools, 'off-paper')}>
      {file !== null && <CsvButton name={name} model={model} file={file} />}
      <Popover position="bottom-end" trapFocus returnFocus width={270} shadow="md">
        <Popover.Target>
          <Button size="compact-sm" variant="subtle" color="gray" leftSection={<ColumnsIcon size={15} />}>
            {t('list.view')}
          </Button>
        </Popover.Target>
        <Popover.Dropdown>
          <Stack gap="sm">
            {sortable.length > 0 && <SortField columns={sortable} sort={sort} setSort={setSort} />}
            {hideable.length > 1 && (
              <fieldset className={css.choices}>
                <legend>{t('list.columns')}</legend>
                <Stack gap={6}>
                  {hideable.map(({ id, title }) => (
                    <Checkbox
                      key={id}
                      size="xs"
                      label={title}
                      checked={!choice.hidden.includes(id)}
                      onChange={({ currentTarget: { checked } }) =>
                        choose({
                          hidden: checked ? choice.hidden.filter((other) => other !== id) : [...choice.hidden, id],
                        })
                      }
                    />
                  ))}
                </Stack>
              </fieldset>
            )}
            <Switch
              size="xs"
              label={t('list.dense')}
              checked={choice.dense}
              onChange={({ currentTarget: { checked } }) => choose({ dense: checked })}
            />
          </Stack>
        </Popover.Dropdown>
      </Popover>
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

/** The order of a list whose head is not seen, as on a phone. */
function SortField<Row>({
  columns,
  sort,
  setSort,
}: Pick<ListToolsProps<Row>, 'columns' | 'sort' | 'setSort'>): ReactNode {
  const { t } = useTranslation()
  return (
    <NativeSelect
      label={t('list.sort')}
      value={sort ?? ''}
      onChange={({ currentTarget: { value } }) => setSort(value === '' ? null : value)}
      data={[
        { value: '', label: t('list.as_it_comes') },
        ...columns.flatMap(({ id, title }) => [
          { value: id, label: t('list.rising', { column: title }) },
          { value: `-${id}`, label: t('list.falling', { column: title }) },
        ]),
      ]}
    />
  )
}
