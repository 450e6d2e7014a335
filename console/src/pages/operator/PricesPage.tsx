import { Button, Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { PricedModel } from '../../../../src/api/admin/catalog-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { ChoiceField, SearchField } from '../../parts/ChoiceField.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import { DataList } from '../../parts/DataList.tsx'
import { useFilters, useTyped } from '../../parts/list-place.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { usePriceName } from '../models/PriceLines.tsx'
import { ModelForm } from './ModelForm.tsx'
import { OperatorPage } from './OperatorPage.tsx'

/** All models with their costs, prices and margins. */
export function PricesPage(): ReactNode {
  const { t } = useTranslation()
  const models = useRead('GET /admin/v1/models', {})
  const [edited, setEdited] = useState<string | null>(null)
  const close = (): void => setEdited(null)
  return (
    <OperatorPage
      title={t('nav.prices')}
      lead={t('prices.lead')}
      actions={
        <Button leftSection={<PlusIcon size={17} />} onClick={() => setEdited('new')}>
          {t('prices.add')}
        </Button>
      }
    >
      <Loaded of={models} height={480}>
        {({ data }) => <Models models={data} edit={setEdited} />}
      </Loaded>
      <Dialog
        name="model"
        opened={edited !== null}
        onClose={close}
        size="xl"
        title={edited === 'new' ? t('prices.add') : edited}
      >
        {edited !== null && <ModelForm id={edited === 'new' ? null : edited} done={close} />}
      </Dialog>
    </OperatorPage>
  )
}

interface ModelsProps {
  readonly models: readonly PricedModel[]
  readonly edit: (id: string) => void
}

function Models({ models, edit }: ModelsProps): ReactNode {
  const { t } = useTranslation()
  const { filters, filter } = useFilters<'query' | 'type'>()
  const [text, setText] = useTyped(filters.query ?? '', (value) => filter('query', value))
  const type = filters.type ?? null
  // What is typed narrows at once, and is in the address soon after.
  const found = models.filter(
    (model) =>
      `${model.id} ${model.name}`.toLowerCase().includes(text.trim().toLowerCase()) &&
      (type === null || model.type === type),
  )
  const types = [...new Set(models.map((model) => model.type))]
  return (
    <>
      <div className={css.fields}>
        <SearchField value={text} change={setText} />
        <ChoiceField
          label={t('models.type')}
          value={type}
          onChange={(value) => filter('type', value)}
          data={types.map((value) => ({ value, label: t(`type.${value}`) }))}
        />
      </div>
      <ModelList models={found} edit={edit} />
    </>
  )
}

function ModelList({ models, edit }: ModelsProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <DataList
      name="prices"
      label={t('nav.prices')}
      rows={models}
      rowId={({ id }) => id}
      empty={{ picture: 'model', title: t('models.none') }}
      columns={[
        {
          id: 'model',
          title: t('usage.model'),
          value: ({ id }) => id,
          cell: ({ id, name }) => (
            <div>
              {name}
              <div className={css.mono}>{id}</div>
            </div>
          ),
        },
        {
          id: 'state',
          title: t('keys.state'),
          value: (model) => t(stateOf(model)),
          cell: (model) => (
            <StatusBadge tone={!model.active ? 'bad' : model.hidden ? 'quiet' : 'good'}>
              {t(stateOf(model))}
            </StatusBadge>
          ),
        },
        {
          id: 'type',
          title: t('models.type'),
          value: ({ type }) => t(`type.${type}`),
          cell: ({ type }) => t(`type.${type}`),
        },
        {
          id: 'margin',
          title: t('prices.least_margin'),
          end: true,
          value: leastMargin,
          cell: (model) => {
            const margin = leastMargin(model)
            return margin === null ? '–' : format.percent(margin / 100)
          },
        },
        {
          id: 'endpoints',
          title: t('prices.columns'),
          end: true,
          wide: true,
          cell: (model) => <EndpointPrices model={model} />,
        },
        {
          id: 'actions',
          title: '',
          end: true,
          cell: ({ id }) => (
            <Button size="compact-sm" variant="subtle" onClick={() => edit(id)}>
              {t('common.edit')}
            </Button>
          ),
        },
      ]}
    />
  )
}

function stateOf({ active, hidden }: PricedModel) {
  return !active ? 'prices.inactive' : hidden ? 'prices.hidden' : 'prices.on'
}

/** Of the prices of all endpoints, in percent; null = nothing is sold. */
function leastMargin({ endpoints }: PricedModel): number | null {
  const margins = endpoints.flatMap(({ lines }) => lines.flatMap(({ margin_percent: margin }) => margin ?? []))
  return margins.length === 0 ? null : Math.min(...margins)
}

function EndpointPrices({ model }: { readonly model: PricedModel }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const name = usePriceName()
  return model.endpoints.map(({ endpoint, provider_name: provider, lines, state }) => (
    <div key={endpoint}>
      <Text size="xs" fw={600} ta="end" mt={2}>
        {provider}
        {state === 'healthy' ? '' : ` · ${t('health.cooling_down')}`}
      </Text>
      {lines.map(({ price, cost, sell, margin_percent: margin }) => (
        <Text key={price} size="sm" ta="end" component="div">
          <Text span size="xs" c="dimmed">
            {name(price)}
          </Text>{' '}
          {format.price(cost)} → {format.price(sell)}{' '}
          <Text span size="sm" {...(margin !== null && margin < 0 ? { c: 'red' } : {})}>
            ({margin === null ? '–' : format.percent(margin / 100)})
          </Text>
        </Text>
      ))}
    </div>
  ))
}
