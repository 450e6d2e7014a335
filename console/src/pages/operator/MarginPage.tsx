import { SegmentedControl } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import type { MarginReport, UsageSums } from '../../../../src/api/admin/report-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { DayChart, MEASURES } from '../../parts/DayChart.tsx'
import { RangeFields, useRange } from '../../parts/RangeFields.tsx'
import { useChoice, useFilters } from '../../parts/list-place.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { Section, Tile } from '../../parts/Page.tsx'
import { format, t } from '../../parts/words.ts'
import { type DayRange, logSpan } from '../../parts/zoned-day.ts'
import { useSession } from '../../session.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { accountAt } from '../../parts/row-link.ts'

const GROUPS = ['models', 'conditions', 'providers', 'accounts'] as const
const NONE = 'chart'
/** The filter of the log for a row of a group. */
const FILTERS = { models: 'model', conditions: 'model', providers: 'provider', accounts: 'account' } as const

/** Days of the report as the log's address has them. */
function useSpan(): (days: DayRange) => DayRange {
  const { service } = useSession()
  return (days) => logSpan(days, format.zone, service.service_timezone)
}

/** Revenue, the providers' cost, the cost of insurance, and the margin. */
export function MarginPage() {
  const days = useRange()
  const report = useRead('GET /admin/v1/margin', { query: days.range }, { keep: true })
  const { filters, filter } = useFilters<'prices'>()
  const percent = Number(filters.prices ?? 100)
  return (
    <OperatorPage title={t('nav.margin')} lead={t('margin.lead')}>
      <div className="fields">
        <RangeFields {...days} />
        <NumberField
          label={t('margin.prices')}
          description={t('margin.prices_hint')}
          value={filters.prices ?? '100'}
          onChange={(value) => filter('prices', value === '100' ? null : value)}
          decimals={2}
          least={0}
          most={1_000}
          unit="%"
        />
      </div>
      <Loaded of={report} height={560}>
        {(answer) => <Report report={percent >= 0 && percent !== 100 ? repriced(answer, percent / 100) : answer} />}
      </Loaded>
    </OperatorPage>
  )
}

/** The same requests with prices times `factor`: the costs stay. */
function repriced(report: MarginReport, factor: number): MarginReport {
  const priced = <R extends UsageSums>(row: R): R => {
    const revenue = row.revenue * factor
    const margin = row.margin + revenue - row.revenue
    return { ...row, revenue, margin, margin_percent: revenue === 0 ? null : (margin / revenue) * 100 }
  }
  return {
    ...report,
    totals: priced(report.totals),
    days: report.days.map(priced),
    models: report.models.map(priced),
    conditions: report.conditions.map(priced),
    providers: report.providers.map(priced),
    accounts: report.accounts.map(priced),
  }
}

function Report({ report }: { readonly report: MarginReport }) {
  const { totals } = report
  const navigate = useNavigate()
  const spanOf = useSpan()
  const percent = totals.margin_percent === null ? '–' : format.percent(totals.margin_percent / 100)
  const requests = t('home.requests', { count: totals.requests, shown: format.number(totals.requests) })
  return (
    <>
      <div className="tiles">
        <Tile lead label={t('margin.margin')} money={totals.margin} note={percent} />
        <Tile label={t('margin.revenue')} money={totals.revenue} note={requests} />
        <Tile label={t('margin.provider_cost')} money={totals.provider_cost} />
        <Tile label={t('margin.insured')} money={totals.insured} note={t('margin.insured_note')} />
        <Tile label={t('margin.shortfall')} money={totals.shortfall} note={t('margin.shortfall_note')} />
      </div>
      <Section title={t('usage.by_day')}>
        <DayChart
          kind="group"
          days={report.days.map(({ day, revenue, provider_cost: cost, margin }) => ({
            day,
            values: [revenue, cost, margin],
          }))}
          unit="money"
          series={[
            { name: 'revenue', label: t('margin.revenue'), colour: MEASURES.revenue },
            { name: 'cost', label: t('margin.provider_cost'), colour: MEASURES.cost },
            { name: 'margin', label: t('margin.margin'), colour: MEASURES.margin },
          ]}
          open={(day) => void navigate({ to: '/operator/requests', search: { ...spanOf({ from: day, to: day }) } })}
          label={t('margin.chart')}
          height={280}
        />
      </Section>
      <Groups report={report} />
      {report.caches.models.length > 0 && <Caches caches={report.caches} />}
    </>
  )
}

function Caches({ caches }: { readonly caches: MarginReport['caches'] }) {
  const saved = {
    id: 'saved',
    title: t('usage.cache_saved'),
    as: 'money',
    value: (row: { readonly saved: number }) => row.saved,
  } as const
  return (
    <Section title={t('margin.caches')}>
      <div className="tiles">
        <Tile label={t('usage.cache_saved')} money={caches.saved} note={t('margin.caches_note')} />
      </div>
      <DataList
        name="caches-models"
        prefix="models-"
        label={t('margin.caches_by_model')}
        rows={caches.models}
        empty={{ picture: NONE, title: t('usage.none') }}
        columns={[{ id: 'id', title: t('nav.models'), value: ({ id }) => id }, saved]}
      />
      <DataList
        name="caches-keys"
        prefix="keys-"
        label={t('margin.caches_by_key')}
        rows={caches.keys}
        empty={{ picture: NONE, title: t('usage.none') }}
        columns={[
          {
            id: 'id',
            title: t('nav.keys'),
            value: ({ id, name }) => (name === '' ? id : name),
            to: ({ account }) => accountAt(account),
          },
          saved,
        ]}
      />
    </Section>
  )
}

function Groups({ report }: { readonly report: MarginReport }) {
  const [group, setGroup] = useChoice('group', GROUPS)
  const spanOf = useSpan()
  const rows: readonly (UsageSums & {
    readonly id: string
    readonly name?: string
    readonly margin_percent: number | null
  })[] =
    group === 'conditions'
      ? report.conditions.map((row) => ({ ...row, name: `${row.id}, ${row.condition ?? t('margin.plain')}` }))
      : report[group]
  const title = (value: typeof group): string => (value === 'conditions' ? t('margin.conditions') : t(`nav.${value}`))
  return (
    <>
      <div className="scrolled">
        <SegmentedControl
          value={group}
          onChange={setGroup}
          data={GROUPS.map((value) => ({ value, label: title(value) }))}
          aria-label={t('usage.group')}
        />
      </div>
      <DataList
        name={`margin-${group}`}
        sortAtFirst="-margin"
        label={t('usage.groups')}
        rows={rows}
        rowId={({ id, name }) => (group === 'conditions' ? (name ?? id) : id)}
        empty={{ picture: NONE, title: t('usage.none') }}
        columns={[
          {
            id: 'id',
            title: title(group),
            value: ({ id, name = '' }) => (name === '' ? id : name),
            to: ({ id }) => ({ to: '/operator/requests', search: { [FILTERS[group]]: id, ...spanOf(report) } }),
          },
          { id: 'requests', title: t('usage.requests'), as: 'count', value: ({ requests }) => requests },
          { id: 'revenue', title: t('margin.revenue'), as: 'money', value: ({ revenue }) => revenue },
          { id: 'cost', title: t('margin.provider_cost'), as: 'money', value: 'provider_cost' },
          { id: 'insured', title: t('margin.insured'), as: 'money', value: ({ insured }) => insured },
          { id: 'margin', title: t('margin.margin'), as: 'money', value: ({ margin }) => margin },
          { id: 'percent', title: '%', as: 'percent', value: 'margin_percent' },
        ]}
      />
    </>
  )
}
