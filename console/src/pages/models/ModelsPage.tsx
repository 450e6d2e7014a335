import { Button, Checkbox } from '@mantine/core'
import { useDeferredValue, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelRow } from '../../../../src/api/cabinet/model-contract.ts'
import { MODEL_TYPES } from '../../../../src/tables/model-types.ts'
import { useRead } from '../../api/hooks.ts'
import { ChoiceField, SearchField } from '../../parts/ChoiceField.tsx'
import { useFilters, useTyped } from '../../parts/list-place.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import css from '../../style/layout.module.css'
import { Compare } from './Compare.tsx'
import { shownModels } from './find-models.ts'
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

type FilterName = 'query' | 'type' | 'provider' | 'context' | 'allowed'

function Catalogue({ models }: { readonly models: readonly ModelRow[] }): ReactNode {
  const { t } = useTranslation()
  const { filters, filter } = useFilters<FilterName>()
  const [typed, setTyped] = useTyped(filters.query ?? '', (value) => filter('query', value))
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [comparing, setComparing] = useState(false)
  // What is typed narrows at once, and is in the address soon after.
  const text = useDeferredValue(typed)
  const shown = shownModels(models, {
    text,
    type: filters.type ?? null,
    provider: filters.provider ?? null,
    context: CONTEXTS.find((tokens) => String(tokens) === filters.context) ?? null,
    allowedOnly: filters.allowed === 'true',
  })
  const toggle = (id: string): void =>
    setChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id].slice(-COMPARED_MAX))
  return (
    <>
      <Filters models={models} text={typed} setText={setTyped} filters={filters} filter={filter} />
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
  readonly text: string
  readonly setText: (text: string) => void
  readonly filters: Readonly<Partial<Record<FilterName, string>>>
  readonly filter: (name: FilterName, value: string | null) => void
}

function Filters({ models, text, setText, filters, filter }: FiltersProps): ReactNode {
  const { t } = useTranslation()
  return (
    <div className={css.fields}>
      <SearchField value={text} change={setText} />
      <ChoiceField
        label={t('models.type')}
        value={filters.type ?? null}
        onChange={(value) => filter('type', value)}
        data={MODEL_TYPES.map((value) => ({ value, label: t(`type.${value}`) }))}
      />
      <ChoiceField
        label={t('log.filter_provider')}
        searchable
        value={filters.provider ?? null}
        onChange={(value) => filter('provider', value)}
        data={providersOf(models)}
      />
      <ChoiceField
        label={t('models.context_from')}
        value={filters.context ?? null}
        onChange={(value) => filter('context', value)}
        data={CONTEXTS.map((tokens) => ({ value: String(tokens), label: `${tokens / 1_000}K` }))}
      />
      <Checkbox
        label={t('models.allowed_only')}
        checked={filters.allowed === 'true'}
        onChange={({ currentTarget }) => filter('allowed', currentTarget.checked ? 'true' : null)}
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
