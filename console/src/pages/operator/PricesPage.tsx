import { Button, Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { PricedModel } from '../../../../src/admin/catalog-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { ChoiceField, SearchField } from '../../parts/ChoiceField.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import { List } from '../../parts/List.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Pager } from '../../parts/Pager.tsx'
import { StatusBadge } from '../../parts/StatusBadge.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { usePriceName } from '../models/PriceLines.tsx'
import { ModelForm } from './ModelForm.tsx'
import { OperatorPage } from './OperatorPage.tsx'

const PAGE_ROWS = 30

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
      <Dialog opened={edited !== null} onClose={close} size="xl" title={edited === 'new' ? t('prices.add') : edited}>
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
  const [text, setText] = useState('')
  const [type, setType] = useState<string | null>(null)
  const [offset, setOffset] = useState(0)
  const found = models.filter(
    (model) =>
      `${model.id} ${model.name}`.toLowerCase().includes(text.trim().toLowerCase()) &&
      (type === null || model.type === type),
  )
  const types = [...new Set(models.map((model) => model.type))]
  return (
    <>
      <div className={css.fields}>
        <SearchField
          value={text}
          change={(value) => {
            setOffset(0)
            setText(value)
          }}
        />
        <ChoiceField
          label={t('models.type')}
          value={type}
          onChange={(value) => {
            setOffset(0)
            setType(value)
          }}
          data={types.map((value) => ({ value, label: t(`type.${value}`) }))}
        />
      </div>
      <ModelList models={found.slice(offset, offset + PAGE_ROWS)} edit={edit} />
      <Pager offset={offset} size={PAGE_ROWS} total={found.length} go={setOffset} />
    </>
  )
}

function ModelList({ models, edit }: ModelsProps): ReactNode {
  const { t } = useTranslation()
  return (
    <List
      label={t('nav.prices')}
      rows={models}
      rowId={({ id }) => id}
      empty={{ title: t('models.none') }}
      columns={[
        {
          id: 'model',
          title: t('usage.model'),
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
          cell: ({ active, hidden }) => (
            <StatusBadge tone={!active ? 'bad' : hidden ? 'quiet' : 'good'}>
              {t(!active ? 'prices.inactive' : hidden ? 'prices.hidden' : 'prices.on')}
            </StatusBadge>
          ),
        },
        { id: 'endpoints', title: t('prices.columns'), end: true, cell: (model) => <EndpointPrices model={model} /> },
        {
          id: t('common.actions'),
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
