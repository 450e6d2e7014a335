import { SegmentedControl, Select } from '@mantine/core'
import { type LinkProps, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { SpendSums, UsageAnswer, UsageGroup } from '../../../../src/api/cabinet/log-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { DayChart, type ChartSeries } from '../../parts/DayChart.tsx'
import { RangeFields } from '../../parts/DayField.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page, Section, Tile } from '../../parts/Page.tsx'
import { format, t } from '../../parts/words.ts'
import { type DayRange, endOfDay, lastDays, startOfDay } from '../../parts/zoned-day.ts'
import { useSession } from '../../session.tsx'

const DEFAULT_DAYS = 30
const HOUR_MS = 3_600_000
const HOURS = ['6', '24', '72', '168'] as const
type Hours = (typeof HOURS)[number]

/** Spending and requests by day or hour, split by model, key, app or person. */
export function UsagePage() {
  const [by, setBy] = useState<'day' | 'hour'>('day')
  const [range, setRange] = useState(lastDays(DEFAULT_DAYS))
  const [hours, setHours] = useState<Hours>('24')
  const [group, setGroup] = useState<UsageGroup>('model')
  return (
    <Page
      title={t('nav.usage')}
      lead={t('usage.lead')}
      actions={
        <SegmentedControl
          value={by}
          onChange={setBy}
          data={(['day', 'hour'] as const).map((value) => ({ value, label: t(`usage.by_${value}`) }))}
          aria-label={t('usage.steps')}
        />
      }
    >
      <div className="fields">
        {by === 'day' ? (
          <RangeFields range={range} change={setRange} />
        ) : (
          <Select
            label={t('range.period')}
            value={hours}
            onChange={(value) => value !== null && setHours(value)}
            data={HOURS.map((value) => ({ value, label: t(`range.hours_${value}`) }))}
          />
        )}
        <Select
          label={t('usage.group')}
          value={group}
          onChange={(value) => value !== null && setGroup(value)}
          data={(['model', 'key', 'app', 'person'] as const).map((value) => ({ value, label: t(`usage.by_${value}`) }))}
        />
      </div>
      {by === 'day' ? <ByDay range={range} group={group} /> : <ByHour key={hours} hours={hours} group={group} />}
    </Page>
  )
}

function ByDay({ range, group }: { readonly range: DayRange; readonly group: UsageGroup }) {
  const usage = useRead('GET /cabinet/v1/usage', { query: { ...range, group_by: group } }, { keep: true })
  const { service } = useSession()
  return (
    <Loaded of={usage} height={560}>
      {(answer) => (
        <UsageReport
          {...answer}
          slots={answer.days.map(({ day }) => day)}
          cells={answer.cells.map((cell) => ({ ...cell, slot: cell.day }))}
          nameOf={(day) => format.day(day)}
          tickOf={(day) => format.day(day)}
          spanOf={(day) => daySpan(day, format.zone, service.service_timezone)}
          group={group}
          by="day"
        />
      )}
    </Loaded>
  )
}

function ByHour({ hours, group }: { readonly hours: Hours; readonly group: UsageGroup }) {
  // The end of the period stays the same while the page is open: another one would be another query.
  const [to] = useState(() => Date.now())
  const query = {
    from: new Date(to - Number(hours) * HOUR_MS).toISOString(),
    to: new Date(to).toISOString(),
    group_by: group,
  }
  const usage = useRead('GET /cabinet/v1/usage/hours', { query }, { keep: true })
  return (
    <Loaded of={usage} height={560}>
      {(answer) => (
        <UsageReport
          {...answer}
          forecast={null}
          slots={answer.hours.map(({ at }) => at)}
          cells={answer.cells.map((cell) => ({ ...cell, slot: cell.at }))}
          nameOf={(at) => format.hour(at)}
          tickOf={(at) => (hours === '6' || hours === '24' ? format.clock(at) : format.hour(at))}
          spanOf={(at) => ({ from: at, to: new Date(Date.parse(at) + HOUR_MS).toISOString() })}
          group={group}
          by="hour"
        />
      )}
    </Loaded>
  )
}

/** Days of usage are in the service's time zone; those of the log are in the reader's. */
function daySpan(day: string, zone: string, serviceZone: string): LogSpan {
  const [from, to] = [startOfDay(day, serviceZone), endOfDay(day, serviceZone)]
  return zone === serviceZone || from === null || to === null
    ? { from: day, to: day }
    : { from: from.toISOString(), to: to.toISOString() }
}

const SERIES_MAX = 6
const OTHERS = 'others'
/** The id of the group that sums up the small groups. */
const REST = '…rest'

interface LogSpan {
  readonly from: string
  readonly to: string
}

interface UsageReportProps {
  readonly totals: SpendSums
  readonly forecast: UsageAnswer['forecast']
  readonly groups: UsageAnswer['groups']
  /** Days or hours, in order. */
  readonly slots: readonly string[]
  readonly cells: readonly (SpendSums & { readonly slot: string; readonly group: string })[]
  /** The text of a day or an hour. */
  readonly nameOf: (slot: string) => string
  /** A shorter text, for an axis. */
  readonly tickOf: (slot: string) => string
  /** The beginning and the end of a day or an hour, in the form of the log's address. */
  readonly spanOf: (slot: string) => LogSpan
  readonly group: UsageGroup
  readonly by: 'day' | 'hour'
}

/** Totals, a stacked chart that links to the log, and the groups. */
export function UsageReport(props: UsageReportProps) {
  const { totals, forecast, groups, slots, nameOf, tickOf, spanOf, group, by } = props
  const navigate = useNavigate()
  const [what, setWhat] = useState<'cost' | 'requests'>('cost')
  const chart = stackedSlots(props, what, (id) => (id === REST ? t('usage.rest') : unnamed(group)))
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
            const only = id === undefined || id === '' || group === 'person' ? {} : { [group]: id }
            void navigate({ to: '/log', search: { ...only, ...spanOf(slot) } })
          }}
        />
      </Section>
      <DataList
        name="usage"
        label={t('usage.groups')}
        rows={groups}
        empty={{ picture: 'chart', title: t('usage.none'), text: t('usage.none_text') }}
        columns={[
          {
            id: 'group',
            title: t(`usage.${group}`),
            value: ({ id, label }) => (id === REST ? t('usage.rest') : label),
            cell: ({ id, label }) => (id === REST ? t('usage.rest') : label === '' ? unnamed(group) : label),
            to: (row) => placeOf(row, group, span),
          },
          { id: 'requests', title: t('usage.requests'), as: 'count', value: ({ requests }) => requests },
          { id: 'errors', title: t('usage.errors'), as: 'count', value: ({ errors }) => errors },
          { id: 'input', title: t('usage.input_tokens'), as: 'count', value: 'input_tokens' },
          { id: 'output', title: t('usage.output_tokens'), as: 'count', value: 'output_tokens' },
          {
            id: 'saved',
            title: t('usage.cache_saved'),
            end: true,
            value: 'cache_saved',
            cell: (row) => (row.cache_saved === 0 ? '–' : format.moneyInColumn(row.cache_saved)),
          },
          { id: 'cost', title: t('usage.cost'), as: 'money', value: ({ cost }) => cost },
        ]}
      />
    </>
  )
}

/** Where the requests of a group are, or the keys of a person. */
function placeOf(
  { id, label }: { readonly id: string; readonly label: string },
  group: UsageGroup,
  span: LogSpan,
): LinkProps | null {
  if (id === REST || (group === 'person' && id === '')) return null
  return group === 'person' ? { to: '/keys', search: { by: label } } : { to: '/log', search: { [group]: id, ...span } }
}

/** The label of the group that has none. */
function unnamed(group: UsageGroup): string {
  return t(group === 'person' ? 'usage.no_person' : 'usage.no_app')
}

function Totals({ totals, forecast }: Pick<UsageReportProps, 'totals' | 'forecast'>) {
  return (
    <div className="tiles">
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

interface StackedSlots {
  readonly days: readonly Readonly<Record<string, number | string>>[]
  readonly series: readonly ChartSeries[]
  /** The id of the group of each series; the series that sums up several groups has none. */
  readonly ids: ReadonlyMap<string, string>
}

/**
 * The figures of each day or hour by group, for a stacked chart. The smaller groups are summed up in one. `unnamed`:
 * the label of groups without one.
 */
function stackedSlots(
  { groups, slots, cells }: Pick<UsageReportProps, 'groups' | 'slots' | 'cells'>,
  what: 'cost' | 'requests',
  unnamed: (id: string) => string,
): StackedSlots {
  const shown = groups.filter(({ id }) => id !== REST).slice(0, SERIES_MAX)
  // A group's id can be any text, even `day`.
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
