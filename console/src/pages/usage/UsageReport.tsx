import { SegmentedControl } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { SpendSums, UsageAnswer, UsageGroup } from '../../../../src/api/cabinet/log-contract.ts'
import { DataList } from '../../parts/DataList.tsx'
import type { ChartSeries } from '../../parts/chart-figures.ts'
import { DayChart } from '../../parts/DayChart.tsx'
import { Section } from '../../parts/Section.tsx'
import { Tile } from '../../parts/Tile.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'

const SERIES_MAX = 6
const OTHERS = 'others'
/** The id of the groups that are one. */
const REST = '…rest'

export interface LogSpan {
  readonly from: string
  readonly to: string
}

export interface UsageReportProps {
  readonly totals: SpendSums
  readonly forecast: UsageAnswer['forecast']
  readonly groups: UsageAnswer['groups']
  /** Days or hours, in order. */
  readonly slots: readonly string[]
  readonly cells: readonly (SpendSums & { readonly slot: string; readonly group: string })[]
  /** How a day or an hour is written. */
  readonly nameOf: (slot: string) => string
  /** The same in little room, for an axis. */
  readonly tickOf: (slot: string) => string
  /** When it begins and ends, as the address of the log has it. */
  readonly spanOf: (slot: string) => LogSpan
  readonly group: UsageGroup
  readonly by: 'day' | 'hour'
}

/** Totals, a stacked chart that leads to the log, and the groups. */
export function UsageReport(props: UsageReportProps): ReactNode {
  const { totals, forecast, groups, slots, nameOf, tickOf, spanOf, group, by } = props
  const { t } = useTranslation()
  const format = useFormat()
  const navigate = useNavigate()
  const [what, setWhat] = useState<'cost' | 'requests'>('cost')
  const chart = stackedSlots(props, what, (id) => (id === REST ? t('usage.rest') : t('usage.no_app')))
  const span = { from: spanOf(slots[0] ?? '').from, to: spanOf(slots.at(-1) ?? '').to }
  return (
    <>
      <Totals totals={totals} forecast={forecast} />
      <Section
        title={t(`usage.by_${by}`)}
        lead={t('usage.open_lead')}
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
          days={chart.days}
          series={chart.series}
          unit={what === 'cost' ? 'money' : 'count'}
          label={t(`usage.by_${by}`)}
          height={300}
          nameOf={nameOf}
          tickOf={tickOf}
          open={(slot, series) => {
            const id = chart.ids.get(series ?? '')
            const only = id === undefined || id === '' ? {} : { [group]: id }
            void navigate({ to: '/log', search: { ...only, ...spanOf(slot) } })
          }}
        />
      </Section>
      <DataList
        name="usage"
        label={t('usage.groups')}
        rows={groups}
        rowId={({ id }) => id}
        empty={{ picture: 'chart', title: t('usage.none'), text: t('usage.none_text') }}
        columns={[
          {
            id: 'group',
            title: t(`usage.${group}`),
            value: ({ id, label }) => (id === '…rest' ? t('usage.rest') : label),
            cell: (row) => <GroupName group={group} row={row} span={span} />,
          },
          {
            id: 'requests',
            title: t('usage.requests'),
            end: true,
            value: (row) => row.requests,
            cell: ({ requests }) => format.number(requests),
          },
          {
            id: 'errors',
            title: t('usage.errors'),
            end: true,
            value: (row) => row.errors,
            cell: ({ errors }) => format.number(errors),
          },
          {
            id: 'input',
            title: t('usage.input_tokens'),
            end: true,
            value: (row) => row.input_tokens,
            cell: (row) => format.number(row.input_tokens),
          },
          {
            id: 'output',
            title: t('usage.output_tokens'),
            end: true,
            value: (row) => row.output_tokens,
            cell: (row) => format.number(row.output_tokens),
          },
          {
            id: 'saved',
            title: t('usage.cache_saved'),
            end: true,
            value: (row) => row.cache_saved,
            cell: (row) => (row.cache_saved === 0 ? '–' : format.moneyInColumn(row.cache_saved)),
          },
          {
            id: 'cost',
            title: t('usage.cost'),
            end: true,
            value: (row) => row.cost,
            cell: ({ cost }) => format.moneyInColumn(cost),
          },
        ]}
      />
    </>
  )
}

function Totals({ totals, forecast }: Pick<UsageReportProps, 'totals' | 'forecast'>): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <div className={css.tiles}>
      <Tile lead label={t('usage.cost')} value={format.money(totals.cost)} />
      {forecast !== null && (
        <Tile
          label={t('usage.forecast')}
          value={format.money(forecast.expected)}
          note={t('usage.forecast_rule', {
            spent: format.money(forecast.spent),
            average: format.money(forecast.average),
            days: t('home.days', { count: forecast.days_left }),
          })}
        />
      )}
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
  span,
}: {
  readonly group: UsageGroup
  readonly row: { readonly id: string; readonly label: string }
  readonly span: LogSpan
}): ReactNode {
  const { t } = useTranslation()
  if (row.id === REST) return t('usage.rest')
  const label = row.label === '' ? t('usage.no_app') : row.label
  return (
    <Link to="/log" search={{ [group]: row.id, ...span }}>
      {label}
    </Link>
  )
}

interface StackedSlots {
  readonly days: readonly Readonly<Record<string, number | string>>[]
  readonly series: readonly ChartSeries[]
  /** The group of a series; a series of several groups has none. */
  readonly ids: ReadonlyMap<string, string>
}

/**
 * The figures of each day or hour by group, for a stacked chart. The smaller groups are added up to one. `unnamed`
 * names groups without a label.
 */
function stackedSlots(
  { groups, slots, cells }: Pick<UsageReportProps, 'groups' | 'slots' | 'cells'>,
  what: 'cost' | 'requests',
  unnamed: (id: string) => string,
): StackedSlots {
  const shown = groups.filter(({ id }) => id !== REST).slice(0, SERIES_MAX)
  // A group's id may be any text, even `day`.
  const names = new Map(shown.map(({ id }, index) => [id, `g${index}`]))
  const bySlot = new Map(slots.map((slot) => [slot, new Map<string, number>()]))
  for (const cell of cells) {
    const name = names.get(cell.group) ?? OTHERS
    const slot = bySlot.get(cell.slot)
    slot?.set(name, (slot.get(name) ?? 0) + cell[what])
  }
  const hasOthers = [...bySlot.values()].some((slot) => slot.has(OTHERS))
  const series = shown.map(({ id, label }) => ({
    name: names.get(id) ?? id,
    label: label === '' ? unnamed(id) : label,
  }))
  const all = hasOthers ? [...series, { name: OTHERS, label: unnamed(REST) }] : series
  return {
    days: [...bySlot].map(([slot, values]) => ({
      day: slot,
      ...Object.fromEntries(all.map(({ name }) => [name, values.get(name) ?? 0])),
    })),
    series: all,
    ids: new Map([...names].map(([id, name]) => [name, id])),
  }
}
