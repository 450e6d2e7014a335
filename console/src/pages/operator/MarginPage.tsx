import { SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import type { MarginReport, UsageSums } from '../../../../src/api/admin/report-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { DayChart } from '../../parts/DayChart.tsx'
import { RangeFields } from '../../parts/DayField.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Section, Tile } from '../../parts/Page.tsx'
import { format, t } from '../../parts/words.ts'
import { lastDays } from '../../parts/zoned-day.ts'
import { OperatorPage } from './OperatorPage.tsx'
import { accountAt } from '../../parts/row-link.ts'

const DEFAULT_DAYS = 30
const GROUPS = ['models', 'conditions', 'providers', 'accounts'] as const
const NONE = 'chart'

/** Revenue, the providers' cost, the cost of insurance, and the margin. */
export function MarginPage() {
  const [range, setRange] = useState(lastDays(DEFAULT_DAYS))
  const report = useRead('GET /admin/v1/margin', { query: range }, { keep: true })
  return (
    <OperatorPage title={t('nav.margin')} lead={t('margin.lead')}>
      <div className="fields">
        <RangeFields range={range} change={setRange} />
      </div>
      <Loaded of={report} height={560}>
        {(answer) => <Report report={answer} />}
      </Loaded>
    </OperatorPage>
  )
}

function Report({ report }: { readonly report: MarginReport }) {
  const { totals } = report
  const percent = totals.margin_percent === null ? '–' : format.percent(totals.margin_percent / 100)
  const requests = t('home.requests', { count: totals.requests, shown: format.number(totals.requests) })
  return (
    <>
      <div className="tiles">
        <Tile lead label={t('margin.margin')} value={format.money(totals.margin)} note={percent} />
        <Tile label={t('margin.revenue')} value={format.money(totals.revenue)} note={requests} />
        <Tile label={t('margin.provider_cost')} value={format.money(totals.provider_cost)} />
        <Tile label={t('margin.insured')} value={format.money(totals.insured)} note={t('margin.insured_note')} />
        <Tile label={t('margin.shortfall')} value={format.money(totals.shortfall)} note={t('margin.shortfall_note')} />
      </div>
      <Section title={t('usage.by_day')}>
        <DayChart
          kind="area"
          days={report.days.map(({ day, revenue, provider_cost: cost, margin }) => ({ day, revenue, cost, margin }))}
          unit="money"
          series={[
            { name: 'revenue', label: t('margin.revenue') },
            { name: 'cost', label: t('margin.provider_cost') },
            { name: 'margin', label: t('margin.margin') },
          ]}
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
        <Tile label={t('usage.cache_saved')} value={format.money(caches.saved)} note={t('margin.caches_note')} />
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
  const [group, setGroup] = useState<(typeof GROUPS)[number]>('models')
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
        label={t('usage.groups')}
        rows={rows}
        rowId={({ id, name }) => (group === 'conditions' ? (name ?? id) : id)}
        empty={{ picture: NONE, title: t('usage.none') }}
        columns={[
          {
            id: 'id',
            title: title(group),
            value: ({ id, name = '' }) => (name === '' ? id : name),
            to: ({ id }) => (group === 'accounts' ? accountAt(id) : null),
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
