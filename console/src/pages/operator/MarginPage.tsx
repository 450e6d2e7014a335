import { SegmentedControl } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { MarginReport, UsageSums } from '../../../../src/api/admin/report-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { DayChart } from '../../parts/DayChart.tsx'
import { lastDays } from '../../parts/day-range.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { RangeFields } from '../../parts/RangeFields.tsx'
import { Section } from '../../parts/Section.tsx'
import { Tile } from '../../parts/Tile.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { OperatorPage } from './OperatorPage.tsx'

const DEFAULT_DAYS = 30
const GROUPS = ['models', 'providers', 'accounts'] as const

/** Revenue, the providers' cost, the cost of insurance, and the margin. */
export function MarginPage(): ReactNode {
  const { t } = useTranslation()
  const [range, setRange] = useState(lastDays(DEFAULT_DAYS))
  const report = useRead('GET /admin/v1/margin', { query: range }, { keep: true })
  return (
    <OperatorPage title={t('nav.margin')} lead={t('margin.lead')}>
      <div className={css.fields}>
        <RangeFields range={range} change={setRange} />
      </div>
      <Loaded of={report} height={560}>
        {(answer) => <Report report={answer} />}
      </Loaded>
    </OperatorPage>
  )
}

function Report({ report }: { readonly report: MarginReport }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const { totals } = report
  return (
    <>
      <div className={css.tiles}>
        <Tile
          lead
          label={t('margin.margin')}
          value={format.money(totals.margin)}
          note={totals.margin_percent === null ? '–' : format.percent(totals.margin_percent / 100)}
        />
        <Tile
          label={t('margin.revenue')}
          value={format.money(totals.revenue)}
          note={t('home.requests', { count: totals.requests, shown: format.number(totals.requests) })}
        />
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

function Caches({ caches }: { readonly caches: MarginReport['caches'] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const saved = {
    id: 'saved',
    title: t('usage.cache_saved'),
    end: true,
    value: (row: { readonly saved: number }) => row.saved,
    cell: (row: { readonly saved: number }) => format.moneyInColumn(row.saved),
  }
  return (
    <Section title={t('margin.caches')}>
      <div className={css.tiles}>
        <Tile label={t('usage.cache_saved')} value={format.money(caches.saved)} note={t('margin.caches_note')} />
      </div>
      <DataList
        name="caches-models"
        prefix="models-"
        label={t('margin.caches_by_model')}
        rows={caches.models}
        rowId={({ id }) => id}
        empty={{ picture: 'chart', title: t('usage.none') }}
        columns={[{ id: 'id', title: t('nav.models'), value: ({ id }) => id, cell: ({ id }) => id }, saved]}
      />
      <DataList
        name="caches-keys"
        prefix="keys-"
        label={t('margin.caches_by_key')}
        rows={caches.keys}
        rowId={({ id }) => id}
        empty={{ picture: 'chart', title: t('usage.none') }}
        columns={[
          {
            id: 'id',
            title: t('nav.keys'),
            value: ({ id, name }) => (name === '' ? id : name),
            cell: ({ id, name, account }) => (
              <Link to="/operator/accounts/$id" params={{ id: account }}>
                {name === '' ? id : name}
              </Link>
            ),
          },
          saved,
        ]}
      />
    </Section>
  )
}

function Groups({ report }: { readonly report: MarginReport }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [group, setGroup] = useState<(typeof GROUPS)[number]>('models')
  const rows: readonly (UsageSums & {
    readonly id: string
    readonly name?: string
    readonly margin_percent: number | null
  })[] = report[group]
  return (
    <>
      <div className={css.scrolled}>
        <SegmentedControl
          value={group}
          onChange={setGroup}
          data={GROUPS.map((value) => ({ value, label: t(`nav.${value}`) }))}
          aria-label={t('usage.group')}
        />
      </div>
      <DataList
        name={`margin-${group}`}
        label={t('usage.groups')}
        rows={rows}
        rowId={({ id }) => id}
        empty={{ picture: 'chart', title: t('usage.none') }}
        columns={[
          {
            id: 'id',
            title: t(`nav.${group}`),
            value: ({ id, name }) => (name === undefined || name === '' ? id : name),
            cell: ({ id, name }) =>
              group === 'accounts' ? (
                <Link to="/operator/accounts/$id" params={{ id }}>
                  {name === undefined || name === '' ? id : name}
                </Link>
              ) : (
                id
              ),
          },
          {
            id: 'requests',
            title: t('usage.requests'),
            end: true,
            value: ({ requests }) => requests,
            cell: ({ requests }) => format.number(requests),
          },
          {
            id: 'revenue',
            title: t('margin.revenue'),
            end: true,
            value: ({ revenue }) => revenue,
            cell: ({ revenue }) => format.moneyInColumn(revenue),
          },
          {
            id: 'cost',
            title: t('margin.provider_cost'),
            end: true,
            value: (row) => row.provider_cost,
            cell: (row) => format.moneyInColumn(row.provider_cost),
          },
          {
            id: 'insured',
            title: t('margin.insured'),
            end: true,
            value: ({ insured }) => insured,
            cell: ({ insured }) => format.moneyInColumn(insured),
          },
          {
            id: 'margin',
            title: t('margin.margin'),
            end: true,
            value: ({ margin }) => margin,
            cell: ({ margin }) => format.moneyInColumn(margin),
          },
          {
            id: 'percent',
            title: '%',
            end: true,
            value: (row) => row.margin_percent,
            cell: (row) => (row.margin_percent === null ? '–' : format.percent(row.margin_percent / 100)),
          },
        ]}
      />
    </>
  )
}
