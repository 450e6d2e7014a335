import { Badge, Group, Text } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelEndpoint, ModelRow } from '../../../../src/api/cabinet/model-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { CopyIconButton } from '../../parts/Copy.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { PlaygroundIcon } from '../../parts/icons.ts'
import { ButtonLink } from '../../parts/links.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { Section } from '../../parts/Section.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { FirstRequest } from '../home/FirstRequest.tsx'
import { PriceLines } from './PriceLines.tsx'
import { modalityTexts } from './modality-text.ts'

/** One model: its inputs and outputs, its prices, its providers and their health. */
export function ModelPage(): ReactNode {
  const { t } = useTranslation()
  const { _splat: id = '' } = useParams({ from: '/model/$' })
  const model = useRead('GET /cabinet/v1/models/*id', { params: { id } })
  const actions = (
    <ButtonLink to="/playground" search={{ model: id }} leftSection={<PlaygroundIcon size={17} />}>
      {t('models.try')}
    </ButtonLink>
  )
  return (
    <Page
      title={model.data?.name ?? id}
      lead={
        <>
          <span className={css.mono}>{id}</span> <CopyIconButton text={id} />
        </>
      }
      actions={actions}
    >
      <Loaded of={model} height={500}>
        {(answer) => <Model model={answer} />}
      </Loaded>
    </Page>
  )
}

function Model({ model }: { readonly model: ModelRow }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <>
      {model.description !== null && <Text maw="80ch">{model.description}</Text>}
      <div className={css.halves}>
        <Section title={t('models.facts')}>
          <Facts
            items={[
              [t('models.type'), t(`type.${model.type}`)],
              [
                t('models.context'),
                model.context_length === null
                  ? null
                  : t('models.tokens', { count: model.context_length, shown: format.number(model.context_length) }),
              ],
              [
                t('models.most_output'),
                model.max_completion_tokens === null
                  ? null
                  : t('models.tokens', {
                      count: model.max_completion_tokens,
                      shown: format.number(model.max_completion_tokens),
                    }),
              ],
              [t('models.takes'), modalityTexts(model.input_modalities)],
              [t('models.gives'), modalityTexts(model.output_modalities)],
              [t('models.aliases'), model.aliases.join(', ')],
              [t('models.created'), format.date(model.created)],
              [t('models.voices'), model.voices.join(', ')],
              [t('models.formats'), model.formats.join(', ')],
              [t('models.sizes'), model.sizes.join(', ')],
            ]}
          />
        </Section>
        <Section title={t('models.prices')} lead={t('models.prices_lead')}>
          <PriceLines prices={model.prices} />
        </Section>
      </div>
      <Section title={t('models.providers')} lead={t('models.providers_lead')}>
        <Endpoints endpoints={model.endpoints} />
      </Section>
      {model.type === 'chat' && <FirstRequest summary={{ example_model: model.id, has_requests: true, keys: 0 }} />}
    </>
  )
}

function Endpoints({ endpoints }: { readonly endpoints: readonly ModelEndpoint[] }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const percent = (value: number | null): string => (value === null ? '–' : format.percent(value / 100, 2))
  return (
    <>
      <DataList
        name="model-endpoints"
        label={t('models.providers')}
        rows={endpoints}
        rowId={({ id }) => id}
        empty={{ picture: 'provider', title: t('models.no_providers') }}
        columns={[
          {
            id: 'provider',
            title: t('log.filter_provider'),
            value: (endpoint) => endpoint.provider_name,
            cell: (endpoint) => endpoint.provider_name,
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
            id: 'prices',
            title: t('models.prices'),
            end: true,
            cell: ({ prices }) => <PriceLines prices={prices} most={3} />,
          },
          {
            id: 'uptime',
            title: t('models.uptime'),
            end: true,
            value: (endpoint) => endpoint.uptime_1d,
            cell: (endpoint) => percent(endpoint.uptime_1d),
          },
          {
            id: 'ttft',
            title: t('models.ttft'),
            end: true,
            value: ({ ttft_ms: ttft }) => ttft?.p50 ?? null,
            cell: ({ ttft_ms: ttft }) =>
              ttft === null ? '–' : `${format.duration(ttft.p50)} / ${format.duration(ttft.p90)}`,
          },
          {
            id: 'throughput',
            title: t('models.throughput'),
            end: true,
            value: ({ throughput }) => throughput?.p50 ?? null,
            cell: ({ throughput }) =>
              throughput === null ? '–' : t('request.per_second', { tokens: format.number(throughput.p50) }),
          },
          {
            id: 'context',
            title: t('models.context'),
            end: true,
            value: (endpoint) => endpoint.context_length,
            cell: (endpoint) => (endpoint.context_length === null ? '–' : format.compact(endpoint.context_length)),
          },
        ]}
      />
      <Group gap={6} mt="md">
        {[...new Set(endpoints.flatMap((endpoint) => endpoint.supported_parameters))].toSorted().map((name) => (
          <Badge key={name} variant="default" radius="sm" tt="none" fw={500}>
            {name}
          </Badge>
        ))}
      </Group>
    </>
  )
}
