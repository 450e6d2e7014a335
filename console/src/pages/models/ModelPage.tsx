import { Badge, Group, Text } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import type { ModelEndpoint, ModelRow } from '../../../../src/api/cabinet/model-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { FirstRequest } from '../../parts/CallSnippet.tsx'
import { CopyId } from '../../parts/Copy.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Facts, Page, Section } from '../../parts/Page.tsx'
import { ButtonLink } from '../../parts/cells.tsx'
import { PlaygroundIcon } from '../../parts/icons.ts'
import { format, t } from '../../parts/words.ts'
import { ComingModelPrices, modalityTexts, PriceConditions, PriceLines } from './PriceLines.tsx'

/** One model: its inputs and outputs, its prices, its providers and their health. */
export function ModelPage() {
  const { _splat: id = '' } = useParams({ from: '/model/$' })
  const model = useRead('GET /cabinet/v1/models/*id', { params: { id } })
  const actions = (
    <ButtonLink to="/playground" search={{ model: id }} leftSection={<PlaygroundIcon size={17} />}>
      {t('models.try')}
    </ButtonLink>
  )
  return (
    <Page title={model.data?.name ?? id} lead={<CopyId id={id} />} actions={actions}>
      <Loaded of={model} height={500}>
        {(answer) => <Model model={answer} />}
      </Loaded>
    </Page>
  )
}

function Model({ model }: { readonly model: ModelRow }) {
  const limit = (field: 'context_length' | 'max_completion_tokens'): string | null => {
    const count = model[field]
    if (count === null) return null
    const tokens = t('models.tokens', { count, shown: format.number(count) })
    return model.guessed.includes(field) ? t('models.guess', { tokens }) : tokens
  }
  return (
    <>
      {model.description !== null && <Text maw="80ch">{model.description}</Text>}
      <div className="halves">
        <Section title={t('models.facts')}>
          <Facts
            items={[
              [t('models.type'), t(`type.${model.type}`)],
              [t('models.context'), limit('context_length')],
              [t('models.most_output'), limit('max_completion_tokens')],
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
          <PriceConditions conditions={model.conditions} />
          <ComingModelPrices coming={model.coming} />
        </Section>
      </div>
      <Section title={t('models.providers')} lead={t('models.providers_lead')}>
        <Endpoints endpoints={model.endpoints} />
      </Section>
      {model.type === 'chat' && <FirstRequest summary={{ example_model: model.id, has_requests: true, keys: 0 }} />}
    </>
  )
}

function Endpoints({ endpoints }: { readonly endpoints: readonly ModelEndpoint[] }) {
  return (
    <>
      <DataList
        name="model-endpoints"
        label={t('models.providers')}
        rows={endpoints}
        empty={{ picture: 'provider', title: t('models.no_providers') }}
        columns={[
          { id: 'provider', title: t('log.filter_provider'), value: 'provider_name' },
          {
            id: 'state',
            title: t('keys.state'),
            word: ({ state }) => [state === 'healthy' ? 'good' : 'warn', t(`health.${state}`)],
          },
          {
            id: 'prices',
            title: t('models.prices'),
            end: true,
            cell: ({ prices, conditions }) => (
              <>
                <PriceLines prices={prices} most={3} />
                <PriceConditions conditions={conditions} />
              </>
            ),
          },
          {
            id: 'uptime',
            title: t('models.uptime'),
            end: true,
            value: 'uptime_1d',
            cell: ({ uptime_1d: up }) => (up === null ? '–' : format.percent(up / 100, 2)),
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
            as: 'speed',
            value: ({ throughput }) => throughput?.p50 ?? null,
          },
          { id: 'context', title: t('models.context'), as: 'compact', value: 'context_length' },
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
