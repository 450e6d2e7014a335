import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useRead } from '../../api/hooks.ts'
import { ModelLink } from '../../parts/links.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import { OperatorPage } from './OperatorPage.tsx'

const REFRESH_MS = 10_000

/** The health of each endpoint over the last 30 minutes, failing endpoints first. */
export function HealthPage(): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const health = useRead('GET /admin/v1/endpoints/health', {}, { everyMs: REFRESH_MS })
  return (
    <OperatorPage title={t('nav.health')} lead={t('health.lead')}>
      <Loaded of={health} height={480}>
        {({ data }) => (
          <DataList
            name="health"
            label={t('nav.health')}
            rows={data.toSorted((a, b) => rank(b) - rank(a))}
            rowId={({ endpoint, model }) => `${model} ${endpoint}`}
            empty={{ picture: 'provider', title: t('health.none') }}
            columns={[
              {
                id: 'model',
                title: t('usage.model'),
                value: ({ model }) => model,
                cell: ({ model }) => <ModelLink id={model} />,
              },
              {
                id: 'provider',
                title: t('log.filter_provider'),
                value: ({ provider }) => provider,
                cell: ({ provider }) => provider,
              },
              {
                id: 'state',
                title: t('keys.state'),
                value: ({ state }) => t(`health.${state}`),
                cell: ({ state }) => (
                  <StatusBadge tone={state === 'healthy' ? 'good' : 'warn'}>{t(`health.${state}`)}</StatusBadge>
                ),
              },
              {
                id: 'errors',
                title: t('health.error_rate'),
                end: true,
                value: (row) => row.error_rate_30m,
                cell: (row) => (row.error_rate_30m === null ? '–' : format.percent(row.error_rate_30m)),
              },
              {
                id: 'ttft',
                title: t('health.ttft'),
                end: true,
                value: (row) => row.ttft_ms_30m?.p50 ?? null,
                cell: ({ ttft_ms_30m: ttft }) =>
                  ttft === null ? '–' : `${format.duration(ttft.p50)} / ${format.duration(ttft.p99)}`,
              },
              {
                id: 'throughput',
                title: t('health.throughput'),
                end: true,
                value: (row) => row.throughput_30m?.p50 ?? null,
                cell: ({ throughput_30m: speed }) =>
                  speed === null ? '–' : t('request.per_second', { tokens: format.number(speed.p50) }),
              },
            ]}
          />
        )}
      </Loaded>
    </OperatorPage>
  )
}

/** Paused endpoints first, then by the share of errors, then by use. */
function rank(row: { readonly state: string; readonly error_rate_30m: number | null }): number {
  return (row.state === 'healthy' ? 0 : 10) + (row.error_rate_30m ?? 0) + (row.error_rate_30m === null ? 0 : 0.01)
}
