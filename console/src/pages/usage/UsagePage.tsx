import { ColorSwatch, Group, SegmentedControl, Select } from '@mantine/core'
import { type LinkProps, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { SpendSums, UsageAnswer, UsageGroup } from '../../../../src/api/cabinet/log-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { DayChart, type ChartDay, type ChartSeries } from '../../parts/DayChart.tsx'
import { RangeFields, useRange } from '../../parts/RangeFields.tsx'
import { useChange, useChoice } from '../../parts/list-place.ts'
import { accountAt } from '../../parts/row-link.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page, Section, Tile } from '../../parts/Page.tsx'
import { Money } from '../../parts/cells.tsx'
import { format, t } from '../../parts/words.ts'
import { colourOf, REST_COLOUR, thingColours } from '../../parts/thing-colours.ts'
import { type DayRange, endOfDay, logSpan, startOfDay } from '../../parts/zoned-day.ts'
import { useSession } from '../../session.tsx'

const HOUR_MS = 3_600_000
/** A longer range is shown by day. */
const HOURS_MAX = 168
const GROUPS = ['model', 'key', 'app', 'person', 'end_user'] as const
const SHOWN = ['cost', 'requests'] as const

/** The account on the operator's page; absent = the own account. */
interface Of {
  readonly account?: string | undefined
}

/** Spending and requests by day or hour, split by model, key, app, person or end user. All of it is in the address. */
export function UsagePage() {
  const { service } = useSession()
  const days = useRange()
  const [step, setStep] = useChoice('by', ['day', 'hour'])
  const [group, setGroup] = useChoice('group', GROUPS)
  const change = useChange()
  const span = hoursOf(days.range, service.service_timezone)
  const by = span === null ? 'day' : step
  return (
    <Page
      title={t('nav.usage')}
      lead={t('usage.lead')}
      actions={
        <SegmentedControl
          value={by}
          onChange={(wish) =>
            wish === 'hour' && span === null
              ? change({ by: 'hour', range: 'days_1', from: null, to: null }, false)
              : setStep(wish)
          }
          data={(['day', 'hour'] as const).map((value) => ({ value, label: t(`usage.by_${value}`) }))}
          aria-label={t('usage.steps')}
        />
      }
    >
      <div className="fields">
        <RangeFields {...days} />
        <GroupField group={group} change={setGroup} />
      </div>
      {by === 'hour' && span !== null ? (
        <ByHour span={span} group={group} />
      ) : (
        <ByDay range={days.range} group={group} />
      )}
    </Page>
  )
}

/** The same of an account by day, for the operator. */
export function AccountUsage({ account }: { readonly account: string }) {
  const days = useRange()
  const [group, setGroup] = useChoice('group', GROUPS)
  return (
    <div className="page">
      <div className="fields">
        <RangeFields {...days} />
        <GroupField group={group} change={setGroup} />
      </div>
      <ByDay range={days.range} group={group} account={account} />
    </div>
  )
}

function GroupField({ group, change }: { readonly group: UsageGroup; readonly change: (value: UsageGroup) => void }) {
  return (
    <Select
      label={t('usage.group')}
      {...(group === 'end_user' ? { description: t('usage.end_user_hint') } : {})}
      value={group}
      onChange={(value) => value !== null && change(value)}
      data={GROUPS.map((value) => ({ value, label: t(`usage.by_${value}`) }))}
    />
  )
}

/** The hours of a range up to now, from its first day; null = too many for a chart. */
function hoursOf(range: DayRange, zone: string): LogSpan | null {
  const [from, to] = [startOfDay(range.from, zone), endOfDay(range.to, zone)]
  if (from === null || to === null) return null
  // A whole hour, so that the query stays the same while the page is open.
  const toMs = Math.min(to.getTime(), Math.ceil((Date.now() + 1) / HOUR_MS) * HOUR_MS)
  const hours = (toMs - from.getTime()) / HOUR_MS
  return hours <= 0 || hours > HOURS_MAX ? null : { from: from.toISOString(), to: new Date(toMs).toISOString() }
}

function ByDay({ range, group, account }: Of & { readonly range: DayRange; readonly group: UsageGroup }) {
  const [root, of] =
    account === undefined ? ['/cabinet/v1', {}] : ['/admin/v1/accounts/:id', { params: { id: account } }]
  // Both routes have the same query and answer.
  const route = `GET ${root}/usage` as 'GET /cabinet/v1/usage'
  const usage = useRead(route, { ...of, query: { ...range, group_by: group } }, { keep: true })
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
          spanOf={(day) => logSpan({ from: day, to: day }, format.zone, service.service_timezone)}
          group={group}
          account={account}
          by="day"
        />
      )}
    </Loaded>
  )
}

function ByHour({ span, group }: { readonly span: LogSpan; readonly group: UsageGroup }) {
  const usage = useRead('GET /cabinet/v1/usage/hours', { query: { ...span, group_by: group } }, { keep: true })
  return (
    <Loaded of={usage} height={560}>
      {(answer) => (
        <UsageReport
          {...answer}
          forecast={null}
          slots={answer.hours.map(({ at }) => at)}
          cells={answer.cells.map((cell) => ({ ...cell, slot: cell.at }))}
          nameOf={(at) => format.hour(at)}
          tickOf={(at) => (answer.hours.length <= 24 ? format.clock(at) : format.hour(at))}
          spanOf={(at) => ({ from: at, to: new Date(Date.parse(at) + HOUR_MS).toISOString() })}
          group={group}
          by="hour"
        />
      )}
    </Loaded>
  )
}

const SERIES_MAX = 6
/** The id of the group that sums up the small groups. */
const REST = '…rest'

type LogSpan = DayRange

interface UsageReportProps extends Of {
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
  const { totals, forecast, groups, slots, nameOf, tickOf, spanOf, group, by, account } = props
  const navigate = useNavigate()
  const [what, setWhat] = useChoice('show', SHOWN)
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
            data={SHOWN.map((value) => ({ value, label: t(`usage.${value}`) }))}
            aria-label={t('usage.shown')}
          />
        }
      >
        <DayChart
          kind="stack"
          days={chart.days}
          series={chart.series}
          unit={what === 'cost' ? 'money' : 'count'}
          label={t(`usage.by_${by}`)}
          height={300}
          nameOf={nameOf}
          tickOf={tickOf}
          open={(slot, series) => {
            const isOne = series !== null && series !== '' && series !== REST && filters(group, account)
            void navigate(logAt(account, { ...(isOne ? { [group]: series } : {}), ...spanOf(slot) }))
          }}
        />
      </Section>
      <GroupList groups={groups} group={group} span={span} series={chart.series} account={account} />
    </>
  )
}

interface GroupListProps extends Of, Pick<UsageReportProps, 'groups' | 'group'> {
  readonly span: LogSpan
  readonly series: readonly ChartSeries[]
}

function GroupList({ groups, group, span, series, account }: GroupListProps) {
  return (
    <DataList
      name="usage"
      label={t('usage.groups')}
      rows={groups}
      empty={{
        picture: 'chart',
        title: t('usage.none'),
        ...(account === undefined ? { text: t('usage.none_text') } : {}),
      }}
      columns={[
        {
          id: 'group',
          title: t(`usage.${group}`),
          value: ({ id, label }) => (id === REST ? t('usage.rest') : label),
          cell: ({ id, label }) => (
            <GroupName colour={series.find(({ name }) => name === id)?.colour ?? REST_COLOUR}>
              {id === REST ? t('usage.rest') : label === '' ? unnamed(group) : label}
            </GroupName>
          ),
          to: (row) => placeOf(row, group, span, account),
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
          cell: (row) => (row.cache_saved === 0 ? '–' : <Money of={row.cache_saved} />),
        },
        { id: 'cost', title: t('usage.cost'), as: 'money', value: ({ cost }) => cost },
      ]}
    />
  )
}

/** Where the requests of a group are, or the keys of a person. */
function placeOf(
  { id, label }: { readonly id: string; readonly label: string },
  group: UsageGroup,
  span: LogSpan,
  account?: string,
): LinkProps | null {
  if (id === REST || (id === '' && (group === 'person' || group === 'end_user'))) return null
  if (group === 'person')
    return account === undefined ? { to: '/keys', search: { by: label } } : accountAt(account, 'people')
  return filters(group, account) ? logAt(account, { [group]: id, ...span }) : null
}

/** Whether the log can be filtered by the groups: no log has people, and the operator's has no apps. */
function filters(group: UsageGroup, account?: string): boolean {
  return group !== 'person' && (group !== 'app' || account === undefined)
}

/** The own log, or the operator's of an account. */
function logAt(account: string | undefined, search: Readonly<Record<string, string>>): LinkProps {
  return account === undefined ? { to: '/log', search } : { to: '/operator/requests', search: { account, ...search } }
}

/** The label of the group that has none. */
function unnamed(group: UsageGroup): string {
  return t(group === 'person' || group === 'end_user' ? `usage.no_${group}` : 'usage.no_app')
}

function Totals({ totals, forecast }: Pick<UsageReportProps, 'totals' | 'forecast'>) {
  return (
    <div className="tiles">
      <Tile lead label={t('usage.cost')} money={totals.cost} />
      {forecast !== null && (
        <Tile
          label={t('usage.forecast')}
          money={forecast.expected}
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
      {totals.cache_saved !== 0 && <Tile label={t('usage.cache_saved')} money={totals.cache_saved} />}
    </div>
  )
}

/** The name of a group after its colour in the chart. */
function GroupName({ colour, children }: { readonly colour: number; readonly children: ReactNode }) {
  return (
    <Group gap={8} wrap="nowrap" component="span" display="inline-flex">
      <ColorSwatch size={9} withShadow={false} color={colourOf(colour)} component="span" />
      {children}
    </Group>
  )
}

interface StackedSlots {
  readonly days: readonly ChartDay[]
  /** The name of a series is the id of its group. */
  readonly series: readonly ChartSeries[]
}

/**
 * The figures of each day or hour by group, for a stacked chart. The smaller groups are summed up in one. `unnamed`:
 * the label of groups without one.
 */
function stackedSlots(
  { groups, slots, cells, group }: Pick<UsageReportProps, 'groups' | 'slots' | 'cells' | 'group'>,
  what: 'cost' | 'requests',
  unnamed: (id: string) => string,
): StackedSlots {
  const shown = groups.filter(({ id }) => id !== REST).slice(0, SERIES_MAX)
  const names = new Set(shown.map(({ id }) => id))
  const bySlot = new Map(slots.map((slot) => [slot, new Map<string, number>()]))
  for (const cell of cells) {
    const name = names.has(cell.group) ? cell.group : REST
    const slot = bySlot.get(cell.slot)
    slot?.set(name, (slot.get(name) ?? 0) + cell[what])
  }
  const colours = thingColours(group, [...names])
  const series = shown.map(({ id, label }, number) => ({
    name: id,
    label: label === '' ? unnamed(id) : label,
    colour: colours[number] ?? 0,
  }))
  const hasRest = [...bySlot.values()].some((slot) => slot.has(REST))
  const all = hasRest ? [...series, { name: REST, label: unnamed(REST), colour: REST_COLOUR }] : series
  return {
    days: [...bySlot].map(([slot, values]) => ({ day: slot, values: all.map(({ name }) => values.get(name) ?? 0) })),
    series: all,
  }
}
