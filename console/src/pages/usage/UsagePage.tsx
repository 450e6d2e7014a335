import { SegmentedControl, Select } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { UsageAnswer, UsageGroup } from '../../../../src/cabinet/log-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { DayChart, type ChartSeries } from '../../parts/DayChart.tsx'
import { lastDays } from '../../parts/day-range.ts'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { RangeFields } from '../../parts/RangeFields.tsx'
import { Section } from '../../parts/Section.tsx'
import { Tile } from '../../parts/Tile.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'

const SERIES_MAX = 6
const OTHERS = 'others'

const DEFAULT_DAYS = 30

/** Spend and requests by day, split by model, key or app. */
export function UsagePage(): ReactNode {
  const { t } = useTranslation()
  const [range, setRange] = useState(lastDays(DEFAULT_DAYS))
  const [group, setGroup] = useState<UsageGroup>('model')
  const usage = useRead('GET /cabinet/v1/usage', { query: { ...range, group_by: group } }, { keep: true })
  return (
    <Page title={t('nav.usage')} lead={t('usage.lead')}>
      <div className={css.fields}>
        <RangeFields range={range} change={setRange} />
        <Select
          label={t('usage.group')}
          allowDeselect={false}
          value={group}
          onChange={(value) => value !== null && setGroup(value)}
          data={(['model', 'key', 'app'] as const).map((value) => ({ value, label: t(`usage.by_${value}`) }))}
        />
      </div>
      <Loaded of={usage} height={560}>
        {(answer) => <Report usage={answer} group={group} />}
      </Loaded>
    </Page>
  )
}

function Report({ usage, group }: { readonly usage: UsageAnswer; readonly group: UsageGroup }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [what, setWhat] = useState<'cost' | 'requests'>('cost')
  const stacked = stackedDays(usage, what, (id) => (id === '…rest' ? t('usage.rest') : t('usage.no_app')))
  return (
    <>
      <Totals totals={usage.totals} />
      <Section
        title={t('usage.by_day')}
        actions={
          <SegmentedControl
            size="xs"
            value={what}
            onChange={setWhat}
            data={(['cost', 'requests'] as const).map((value) => ({ value, label: t(`usage.${value}`) }))}
            aria-label={t('usage.shown')}
          />
        }
      >
        <DayChart
          kind="bars"
          days={stacked.days}
          series={stacked.series}
          unit={what === 'cost' ? 'money' : 'count'}
          label={t('usage.by_day')}
          height={300}
        />
      </Section>
      <List
        label={t('usage.groups')}
        rows={usage.groups}
        rowId={({ id }) => id}
        empty={{ title: t('usage.none'), text: t('usage.none_text') }}
        columns={[
          { id: 'group', title: t(`usage.${group}`), cell: (row) => <GroupName group={group} row={row} /> },
          { id: 'requests', title: t('usage.requests'), end: true, cell: ({ requests }) => format.number(requests) },
          { id: 'errors', title: t('usage.errors'), end: true, cell: ({ errors }) => format.number(errors) },
          { id: 'input', title: t('usage.input_tokens'), end: true, cell: (row) => format.number(row.input_tokens) },
          { id: 'output', title: t('usage.output_tokens'), end: true, cell: (row) => format.number(row.output_tokens) },
          {
            id: 'saved',
            title: t('usage.cache_saved'),
            end: true,
            cell: (row) => (row.cache_saved === 0 ? '–' : format.money(row.cache_saved)),
          },
          { id: 'cost', title: t('usage.cost'), end: true, cell: ({ cost }) => format.moneyInColumn(cost) },
        ]}
      />
    </>
  )
}

function Totals({ totals }: Pick<UsageAnswer, 'totals'>): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <div className={css.tiles}>
      <Tile label={t('usage.cost')} value={format.money(totals.cost)} />
      <Tile
        label={t('usage.requests')}
        value={format.number(totals.requests)}
        note={t('usage.errors_count', { count: totals.errors, shown: format.number(totals.errors) })}
      />
      <Tile
        label={t('usage.input_tokens')}
        value={format.compact(totals.input_tokens)}
        note={format.number(totals.input_tokens)}
      />
      <Tile
        label={t('usage.output_tokens')}
        value={format.compact(totals.output_tokens)}
        note={format.number(totals.output_tokens)}
      />
      {totals.cache_saved !== 0 && <Tile label={t('usage.cache_saved')} value={format.money(totals.cache_saved)} />}
    </div>
  )
}

function GroupName({
  group,
  row,
}: {
  readonly group: UsageGroup
  readonly row: { readonly id: string; readonly label: string }
}): ReactNode {
  const { t } = useTranslation()
  if (row.id === '…rest') return t('usage.rest')
  const label = row.label === '' ? t('usage.no_app') : row.label
  return (
    <Link to="/log" search={{ [group]: row.id }}>
      {label}
    </Link>
  )
}

interface StackedDays {
  readonly days: readonly Readonly<Record<string, number | string>>[]
  readonly series: readonly ChartSeries[]
}

/**
 * The figures of each day by group, for a stacked chart. The smaller groups are added up to one. `unnamed` names groups
 * without a label.
 */
function stackedDays(usage: UsageAnswer, what: 'cost' | 'requests', unnamed: (id: string) => string): StackedDays {
  const shown = usage.groups.filter(({ id }) => id !== '…rest').slice(0, SERIES_MAX)
  // A group's id may be any text, even `day`.
  const names = new Map(shown.map(({ id }, index) => [id, `g${index}`]))
  const byDay = new Map(usage.days.map(({ day }) => [day, new Map<string, number>()]))
  for (const cell of usage.cells) {
    const name = names.get(cell.group) ?? OTHERS
    const day = byDay.get(cell.day)
    day?.set(name, (day.get(name) ?? 0) + cell[what])
  }
  const hasOthers = [...byDay.values()].some((day) => day.has(OTHERS))
  const series = shown.map(({ id, label }) => ({
    name: names.get(id) ?? id,
    label: label === '' ? unnamed(id) : label,
  }))
  const all = hasOthers ? [...series, { name: OTHERS, label: unnamed('…rest') }] : series
  return {
    days: [...byDay].map(([day, values]) => ({
      day,
      ...Object.fromEntries(all.map(({ name }) => [name, values.get(name) ?? 0])),
    })),
    series: all,
  }
}
