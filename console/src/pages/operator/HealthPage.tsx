import { Button, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import type { EndpointHealth } from '../../../../src/api/admin/report-contract.ts'
import { readOptions, useAct, useRead } from '../../api/hooks.ts'
import { useCan } from '../../parts/Can.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { confirm } from '../../parts/Dialog.tsx'
import { Loaded, tellFailure } from '../../parts/Loaded.tsx'
import { format, t } from '../../parts/words.ts'
import { CATALOG_RENEWS } from './catalog-edit.tsx'
import { OperatorPage } from './OperatorPage.tsx'
import { healthWord } from './health-word.ts'
import { modelAt } from '../../parts/row-link.ts'

const REFRESH_MS = 10_000

/** The health of each endpoint over the last 30 minutes, failing endpoints first. */
export function HealthPage() {
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
              { id: 'model', title: t('usage.model'), value: 'model', to: ({ model }) => modelAt(model) },
              { id: 'provider', title: t('log.filter_provider'), value: ({ provider }) => provider },
              {
                id: 'state',
                title: t('keys.state'),
                word: ({ state, error_rate_30m: errors }) => healthWord(state, errors),
              },
              { id: 'errors', title: t('health.error_rate'), as: 'share', value: 'error_rate_30m' },
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
                as: 'speed',
                value: (row) => row.throughput_30m?.p50 ?? null,
              },
              {
                id: 'refused',
                title: t('health.refused_today'),
                value: ({ refused_today: refused }) => refused[0]?.requests ?? null,
                cell: (row) => <Refused row={row} />,
              },
            ]}
          />
        )}
      </Loaded>
    </OperatorPage>
  )
}

/** The order of rows: paused endpoints first, then by error rate, then by use. */
function rank(row: { readonly state: string; readonly error_rate_30m: number | null }): number {
  return (row.state === 'healthy' ? 0 : 10) + (row.error_rate_30m ?? 0) + (row.error_rate_30m === null ? 0 : 0.01)
}

/** The parameters that an endpoint refused, each with a button to stop sending it. */
function Refused({ row }: { readonly row: EndpointHealth }) {
  const can = useCan()
  const client = useQueryClient()
  const put = useAct('PUT /admin/v1/models/*id', {
    said: t('health.dropped'),
    renews: ['GET /admin/v1/endpoints/health', ...CATALOG_RENEWS],
  })
  const { model, endpoint } = row
  const drop = async (others: readonly string[]): Promise<void> => {
    const params = { id: model }
    // The model as it is now, since the form sends all of it.
    const read = { ...readOptions('GET /admin/v1/models/*id', { params }, client), staleTime: 0 }
    const entry = await client.fetchQuery(read)
    const endpoints = entry.endpoints.map((one) =>
      `${one.provider}/${one.model}` === endpoint ? { ...one, supported_parameters: others } : one,
    )
    put.mutate({ params, body: { ...entry, endpoints } })
  }
  if (row.refused_today.length === 0) return '–'
  return row.refused_today.map(({ parameter, requests, said, others }) => (
    <div key={parameter}>
      {parameter} × {requests}
      {others !== null && can('PUT /admin/v1/models/*id') && (
        <Button
          size="compact-xs"
          variant="subtle"
          color="red"
          loading={put.isPending}
          aria-label={t('health.drop', { parameter, endpoint })}
          onClick={() =>
            confirm({
              name: 'drop-field',
              title: t('health.drop_ask', { parameter, endpoint }),
              text: t('health.drop_text', { model }),
              act: t('health.drop_act'),
              onConfirm: () => void drop(others).catch(tellFailure),
            })
          }
        >
          {t('health.drop_act')}
        </Button>
      )}
      {said !== null && (
        <Text size="xs" c="dimmed" maw={320} style={{ overflowWrap: 'anywhere' }}>
          {said}
        </Text>
      )}
    </div>
  ))
}
