import { Button, Checkbox, NativeSelect, Popover, Stack, Switch } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import css from '../style/list.module.css'
import { ColumnsIcon, DownloadIcon } from './icons.ts'
import { CSV_ROWS_MAX, saveCsv, type EveryRow } from './list-csv.ts'
import type { ListChoice } from './list-choice.ts'
import type { ListModel } from './list-model.ts'
import type { Column } from './List.tsx'
import { closeName, tellFailure } from './tell-failure.tsx'
import { useFormat } from './use-format.ts'

export interface ListToolsProps<Row> {
  readonly name: string
  /** All, also those that are not seen. */
  readonly columns: readonly Column<Row>[]
  readonly model: ListModel<Row>
  readonly choice: ListChoice
  readonly choose: (change: Partial<ListChoice>) => void
  readonly sort: string | null
  readonly setSort: (sort: string | null) => void
  readonly everyRow?: EveryRow<Row> | undefined
  /** `none` = the page has a file of the server's. */
  readonly file?: 'none'
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
  everyRow,
  file,
}: ListToolsProps<Row>): ReactNode {
  const { t } = useTranslation()
  const sortable = columns.filter((column) => model.sorting.of(column) !== null)
  const hideable = columns.filter(({ title }, index) => index > 0 && title !== '')
  return (
    <div className={css.tools}>
      {file !== 'none' && <CsvButton name={name} model={model} everyRow={everyRow} />}
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

/** Saves what is filtered: every row, and the columns that are seen. */
function CsvButton<Row>({
  name,
  model,
  everyRow,
}: Pick<ListToolsProps<Row>, 'name' | 'model' | 'everyRow'>): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [busy, setBusy] = useState(false)
  const save = async (): Promise<void> => {
    setBusy(true)
    try {
      const own: EveryRow<Row> = async function* rows() {
        yield model.rows
      }
      const saved = await saveCsv(name, model.columns, everyRow ?? own)
      if (saved === 'cut')
        notifications.show({
          message: t('list.csv_cut', { rows: format.number(CSV_ROWS_MAX) }),
          color: 'yellow',
          closeButtonProps: closeName(),
        })
    } catch (failure) {
      tellFailure(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button
      size="compact-sm"
      variant="subtle"
      color="gray"
      loading={busy}
      leftSection={<DownloadIcon size={15} />}
      title={t('list.csv_limit', { rows: format.number(CSV_ROWS_MAX) })}
      onClick={() => void save()}
    >
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
