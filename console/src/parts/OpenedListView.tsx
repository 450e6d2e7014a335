import { Checkbox, NativeSelect, Popover, Stack, Switch } from '@mantine/core'
import css from '../style/list.module.css'
import { type ListViewProps, VIEW_LOOK } from './ListTools.tsx'
import { useOpenedAtOnce } from './first-use.ts'
import { t } from './words.ts'
import { Press } from './cells.tsx'

/** The order of a list, its columns and the height of its rows; the menu is open from the start. */
export function OpenedListView({ columns, choice, choose, order }: ListViewProps) {
  const sortable = columns.filter((column) => order !== undefined && order.of(column) !== null)
  const hideable = columns.slice(1).filter(({ title = '' }) => title !== '')
  const { ref, opened, onChange } = useOpenedAtOnce()
  return (
    <Popover position="bottom-end" trapFocus returnFocus width={270} shadow="md" opened={opened} onChange={onChange}>
      <Popover.Target>
        <Press {...VIEW_LOOK} ref={ref} onClick={() => onChange(!opened)} text={t('list.view')} />
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="sm">
          {order !== undefined && sortable.length > 0 && <SortField columns={sortable} order={order} />}
          {hideable.length > 1 && (
            <fieldset className={css.choices}>
              <legend>{t('list.columns')}</legend>
              <Stack gap={6}>
                {hideable.map(({ id, title }) => (
                  <Checkbox
                    key={id}
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
  )
}

/** The order of a list without visible headers, as on a phone. */
function SortField({ columns, order: { sort, setSort } }: Pick<Required<ListViewProps>, 'columns' | 'order'>) {
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
