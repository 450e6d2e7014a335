import { Button, Checkbox, Select } from '@mantine/core'
import { useDeferredValue, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelRow } from '../../../../src/cabinet/model-contract.ts'
import { MODEL_TYPES } from '../../../../src/model-types.ts'
import { useRead } from '../../api/hooks.ts'
import { ChoiceField, SearchField } from '../../parts/ChoiceField.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import css from '../../style/layout.module.css'
import { Compare } from './Compare.tsx'
import { ORDERS, shownModels, type ModelWish } from './find-models.ts'
import { ModelList } from './ModelList.tsx'

const COMPARED_MAX = 4
/** Least lengths of the context, in tokens. */
const CONTEXTS = [32_000, 128_000, 200_000, 1_000_000] as const

/** The catalogue. The browser itself searches, filters, sorts and compares it. */
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

const NO_WISH: ModelWish = { text: '', type: null, provider: null, context: null, order: 'name', allowedOnly: false }

function Catalogue({ models }: { readonly models: readonly ModelRow[] }): ReactNode {
  const { t } = useTranslation()
  const [wish, setWish] = useState(NO_WISH)
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [comparing, setComparing] = useState(false)
  const text = useDeferredValue(wish.text)
  const shown = shownModels(models, { ...wish, text })
  const toggle = (id: string): void =>
    setChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id].slice(-COMPARED_MAX))
  return (
    <>
      <Filters models={models} wish={wish} change={(part) => setWish((before) => ({ ...before, ...part }))} />
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

interface FiltersProps {
  readonly models: readonly ModelRow[]
  readonly wish: ModelWish
  readonly change: (part: Partial<ModelWish>) => void
}

function Filters({ models, wish, change }: FiltersProps): ReactNode {
  const { t } = useTranslation()
  return (
    <div className={css.fields}>
      <SearchField value={wish.text} change={(text) => change({ text })} />
      <ChoiceField
        label={t('models.type')}
        value={wish.type}
        onChange={(type) => change({ type })}
        data={MODEL_TYPES.map((value) => ({ value, label: t(`type.${value}`) }))}
      />
      <ChoiceField
        label={t('log.filter_provider')}
        searchable
        value={wish.provider}
        onChange={(provider) => change({ provider })}
        data={providersOf(models)}
      />
      <ChoiceField
        label={t('models.context_from')}
        value={wish.context === null ? null : String(wish.context)}
        onChange={(context) => change({ context: context === null ? null : Number(context) })}
        data={CONTEXTS.map((tokens) => ({ value: String(tokens), label: `${tokens / 1_000}K` }))}
      />
      <Select
        label={t('models.order')}
        allowDeselect={false}
        value={wish.order}
        onChange={(value) => change({ order: ORDERS.find((known) => known === value) ?? 'name' })}
        data={ORDERS.map((value) => ({ value, label: t(`models.order_${value}`) }))}
      />
      <Checkbox
        label={t('models.allowed_only')}
        checked={wish.allowedOnly}
        onChange={({ currentTarget }) => change({ allowedOnly: currentTarget.checked })}
        mb={8}
      />
    </div>
  )
}

function providersOf(models: readonly ModelRow[]): { value: string; label: string }[] {
  const endpoints = models.flatMap((model) => model.endpoints)
  const names = new Map(endpoints.map((endpoint) => [endpoint.provider, endpoint.provider_name]))
  return [...names].map(([value, label]) => ({ value, label }))
}
