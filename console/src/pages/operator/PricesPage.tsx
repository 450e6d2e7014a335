import { isFound } from '../../../../src/base/search-words.ts'
import { Text } from '@mantine/core'
import { useState } from 'react'
import type { PricedModel } from '../../../../src/api/admin/catalog-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { useCan } from '../../parts/Can.tsx'
import { DataList } from '../../parts/DataList.tsx'
import { AddButton, Dialog } from '../../parts/Dialog.tsx'
import { Filters } from '../../parts/Filters.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { useFilters, useTyped } from '../../parts/list-place.ts'
import { Press } from '../../parts/cells.tsx'
import { format, t } from '../../parts/words.ts'
import { priceName } from '../models/PriceLines.tsx'
import { Marked } from './connect/ProviderMark.tsx'
import { ComingMarkup, ComingPrices } from './ComingPrices.tsx'
import { ModelForm } from './ModelForm.tsx'
import { OperatorPage } from './OperatorPage.tsx'

/** All models with their costs, prices and margins. */
export function PricesPage() {
  const models = useRead('GET /admin/v1/models', {})
  const [edited, setEdited] = useState<string | null>(null)
  const close = (): void => setEdited(null)
  const [coming, setComing] = useState(false)
  const can = useCan()
  return (
    <OperatorPage
      title={t('nav.prices')}
      lead={t('prices.lead')}
      actions={
        <>
          {can('POST /admin/v1/coming-prices') && (
            <Press variant="default" onClick={() => setComing(true)} text={t('coming.change')} />
          )}
          <AddButton onClick={() => setEdited('new')}>{t('prices.add')}</AddButton>
        </>
      }
    >
      <ComingPrices />
      <Loaded of={models} height={480}>
        {({ data }) => <Models models={data} edit={setEdited} />}
      </Loaded>
      <Dialog name="model" of={edited} close={close} size="xl" title={edited === 'new' ? t('prices.add') : edited}>
        {(id) => <ModelForm id={id === 'new' ? null : id} done={close} />}
      </Dialog>
      <Dialog name="coming-prices" of={coming} close={() => setComing(false)} title={t('coming.change')}>
        <ComingMarkup done={() => setComing(false)} />
      </Dialog>
    </OperatorPage>
  )
}

function Models({ models, edit }: { readonly models: readonly PricedModel[]; readonly edit: (id: string) => void }) {
  const { filters, filter } = useFilters<'query' | 'type'>()
  const typed = useTyped(filters.query ?? '', (value) => filter('query', value))
  const type = filters.type ?? null
  // Typed text filters the list at once, and is in the address soon after.
  const found = models.filter(
    (model) => isFound(typed[0], model.id, model.name) && (type === null || model.type === type),
  )
  const types = [...new Set(models.map((model) => model.type))]
  return (
    <>
      <Filters
        of={[
          { name: 'query', typed },
          { name: 'type', label: t('models.type'), data: types.map((value) => ({ value, label: t(`type.${value}`) })) },
        ]}
      />
      <DataList
        name="prices"
        label={t('nav.prices')}
        rows={found}
        empty={{ picture: 'model', title: t('models.none') }}
        columns={[
          {
            id: 'model',
            title: t('usage.model'),
            value: 'id',
            cell: ({ id, name }) => <Marked slug={id.split('/', 1)[0] ?? ''} name={name} />,
            code: ({ id }) => id,
          },
          {
            id: 'state',
            title: t('keys.state'),
            word: ({ active, hidden }) => {
              if (!active) return ['bad', t('prices.inactive')]
              return hidden ? ['quiet', t('prices.hidden')] : ['good', t('prices.on')]
            },
          },
          { id: 'type', title: t('models.type'), value: (model) => t(`type.${model.type}`) },
          { id: 'margin', title: t('prices.least_margin'), as: 'percent', value: leastMargin },
          {
            id: 'endpoints',
            title: t('prices.columns'),
            end: true,
            wide: true,
            cell: (model) => <EndpointPrices model={model} />,
          },
          { id: 'actions', acts: ({ id }) => [{ label: t('common.edit'), run: () => edit(id) }] },
        ]}
      />
    </>
  )
}

/** The smallest margin over all prices and endpoints, in percent; null = nothing is sold. */
function leastMargin({ endpoints }: PricedModel): number | null {
  const margins = endpoints.flatMap(({ lines, conditions }) =>
    [lines, ...conditions.map((under) => under.lines)].flat().flatMap(({ margin_percent: margin }) => margin ?? []),
  )
  return margins.length === 0 ? null : Math.min(...margins)
}

function EndpointPrices({ model }: { readonly model: PricedModel }) {
  return model.endpoints.map(({ endpoint, provider_name: provider, lines, conditions, state }) => (
    <div key={endpoint}>
      <Text size="xs" fw={600} ta="end" mt={2}>
        {provider}
        {state === 'healthy' ? '' : ` · ${t('health.cooling_down')}`}
      </Text>
      <CostLines lines={lines} />
      {conditions.map((under) => (
        <div key={under.condition}>
          <Text size="xs" ta="end">
            {under.condition}
          </Text>
          <CostLines lines={under.lines} />
        </div>
      ))}
    </div>
  ))
}

function CostLines({ lines }: { readonly lines: PricedModel['endpoints'][number]['lines'] }) {
  return lines.map(({ price, cost, sell, margin_percent: margin }) => (
    <Text key={price} size="sm" ta="end" component="div">
      <span className="small">{priceName(price)}</span> {format.price(cost)} → {format.price(sell)}{' '}
      <Text span size="sm" {...(margin !== null && margin < 0 ? { c: 'red' } : {})}>
        ({margin === null ? '–' : format.percent(margin / 100)})
      </Text>
    </Text>
  ))
}
