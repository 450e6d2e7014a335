import { Button, Checkbox, Select, TextInput } from '@mantine/core'
import { useDeferredValue, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelRow } from '../../../../src/cabinet/contract.ts'
import { useRead } from '../../api/hooks.ts'
import { SearchIcon } from '../../parts/icons.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import css from '../../style/layout.module.css'
import { Compare } from './Compare.tsx'
import { MODEL_TYPES, ORDERS, shownModels, type Order } from './find-models.ts'
import { ModelList } from './ModelList.tsx'

const COMPARED_MAX = 4

/** The catalogue: searched, filtered, ordered and compared in the browser. */
export function ModelsPage(): ReactNode {
  const { t } = useTranslation()
  const models = useRead('GET /cabinet/v1/models', {})
  return (
    <Page title={t('nav.models')} lead={t('models.lead')}>
      <Loaded of={models} height={560}>
        {({ data }) => <Catalogue models={data} />}
      </Loaded>
    </Page>
  )
}

function Catalogue({ models }: { readonly models: readonly ModelRow[] }): ReactNode {
  const { t } = useTranslation()
  const [text, setText] = useState('')
  const [type, setType] = useState<string | null>(null)
  const [provider, setProvider] = useState<string | null>(null)
  const [context, setContext] = useState<string | null>(null)
  const [order, setOrder] = useState<Order>('name')
  const [allowedOnly, setAllowedOnly] = useState(false)
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [comparing, setComparing] = useState(false)
  const search = useDeferredValue(text)
  const shown = shownModels(models, {
    text: search,
    type,
    provider,
    context: context === null ? null : Number(context),
    order,
    allowedOnly,
  })
  const providers = [
    ...new Map(
      models.flatMap(({ endpoints }) =>
        endpoints.map((endpoint) => [endpoint.provider, endpoint.provider_name] as const),
      ),
    ),
  ]
  const toggle = (id: string): void =>
    setChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id].slice(-COMPARED_MAX))
  const clear = { clearable: true, clearButtonProps: { 'aria-label': t('common.clear') } }
  return (
    <>
      <div className={css.fields}>
        <TextInput
          type="search"
          label={t('common.search')}
          leftSection={<SearchIcon size={16} />}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <Select
          label={t('models.type')}
          placeholder={t('log.any')}
          {...clear}
          value={type}
          onChange={setType}
          data={MODEL_TYPES.map((value) => ({ value, label: t(`type.${value}`) }))}
        />
        <Select
          label={t('log.filter_provider')}
          placeholder={t('log.any')}
          {...clear}
          searchable
          value={provider}
          onChange={setProvider}
          data={providers.map(([value, label]) => ({ value, label }))}
        />
        <Select
          label={t('models.context_from')}
          placeholder={t('log.any')}
          {...clear}
          value={context}
          onChange={setContext}
          data={['32000', '128000', '200000', '1000000'].map((value) => ({
            value,
            label: `${Number(value) / 1_000}K`,
          }))}
        />
        <Select
          label={t('models.order')}
          allowDeselect={false}
          value={order}
          onChange={(value) => setOrder(ORDERS.find((known) => known === value) ?? 'name')}
          data={ORDERS.map((value) => ({ value, label: t(`models.order_${value}`) }))}
        />
        <Checkbox
          label={t('models.allowed_only')}
          checked={allowedOnly}
          onChange={({ currentTarget }) => setAllowedOnly(currentTarget.checked)}
          mb={8}
        />
      </div>
      {chosen.length > 0 && (
        <div>
          <Button onClick={() => setComparing(true)} disabled={chosen.length < 2}>
            {t('models.compare', { count: chosen.length })}
          </Button>
          <Button variant="subtle" onClick={() => setChosen([])}>
            {t('common.clear')}
          </Button>
        </div>
      )}
      <ModelList models={shown} all={models.length} chosen={chosen} toggle={toggle} />
      <Compare
        models={models.filter(({ id }) => chosen.includes(id))}
        opened={comparing}
        close={() => setComparing(false)}
      />
    </>
  )
}
