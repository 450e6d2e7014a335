import { isFound } from '../../../../src/base/search-words.ts'
import { Button, Checkbox, ScrollArea, Table, Text } from '@mantine/core'
import { type ReactNode, useDeferredValue, useState } from 'react'
import type { ModelEndpoint, ModelRow } from '../../../../src/api/cabinet/model-contract.ts'
import { ownValue } from '../../../../src/base/own-value.ts'
import { MODEL_TYPE_TABLE, MODEL_TYPES } from '../../../../src/tables/model-types.ts'
import { useRead } from '../../api/hooks.ts'
import { DataList } from '../../parts/DataList.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Filters } from '../../parts/Filters.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { Page } from '../../parts/Page.tsx'
import { StatusBadge, Press } from '../../parts/cells.tsx'
import { useFilters, useTyped } from '../../parts/list-place.ts'
import { format, t } from '../../parts/words.ts'
import { ComingModelPrices, modalityTexts, PriceLines } from './PriceLines.tsx'
import { modelAt } from '../../parts/row-link.ts'

const COMPARED_MAX = 4
/** Choices for the smallest context length, in tokens. */
const CONTEXTS = [32_000, 128_000, 200_000, 1_000_000] as const
const HIDDEN = ['speed', 'created']

/** The catalogue. The browser searches, filters, sorts and compares it. */
export function ModelsPage() {
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
type ModelWish = Readonly<Partial<Record<FilterName, string>>>

function Catalogue({ models }: { readonly models: readonly ModelRow[] }) {
  const { filters, filter } = useFilters<FilterName>()
  const typed = useTyped(filters.query ?? '', (value) => filter('query', value))
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [comparing, setComparing] = useState(false)
  // Typed text filters the list at once, and is in the address soon after.
  const shown = shownModels(models, { ...filters, query: useDeferredValue(typed[0]) })
  const toggle = (id: string): void =>
    setChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id].slice(-COMPARED_MAX))
  return (
    <>
      <FilterFields models={models} typed={typed} />
      {chosen.length > 0 && (
        <div>
          <Button onClick={() => setComparing(true)} disabled={chosen.length < 2}>
            {t('models.compare', { count: chosen.length })}
          </Button>
          <Press variant="subtle" onClick={() => setChosen([])} text={t('common.clear')} />
        </div>
      )}
      <Text size="sm" c="dimmed" role="status">
        {t('models.found', { shown: format.number(shown.length), all: format.number(models.length) })}
      </Text>
      <ModelList models={shown} chosen={chosen} toggle={toggle} />
      <Dialog
        name="comparison"
        of={comparing}
        close={() => setComparing(false)}
        title={t('models.compare_title')}
        size="auto"
      >
        <Comparison models={models.filter(({ id }) => chosen.includes(id))} />
      </Dialog>
    </>
  )
}

/** The models that match the filters, by name. Each word of the query must occur in the id, the name or an alias. */
function shownModels(models: readonly ModelRow[], wish: ModelWish): readonly ModelRow[] {
  const { query = '', type, provider, allowed } = wish
  const context = CONTEXTS.find((tokens) => String(tokens) === wish.context) ?? 0
  return models
    .filter(
      (model) =>
        isFound(query, model.id, model.name, ...model.aliases) &&
        (type === undefined || model.type === type) &&
        (provider === undefined || model.endpoints.some((endpoint) => endpoint.provider === provider)) &&
        (model.context_length ?? 0) >= context &&
        (allowed !== 'true' || model.allowed),
    )
    .toSorted((one, other) => one.name.localeCompare(other.name))
}

interface FilterFieldsProps {
  readonly models: readonly ModelRow[]
  readonly typed: ReturnType<typeof useTyped>
}

function FilterFields({ models, typed }: FilterFieldsProps) {
  const { filters, filter } = useFilters<'allowed'>()
  const endpoints = models.flatMap((model) => model.endpoints)
  const providers = new Map(endpoints.map((endpoint) => [endpoint.provider, endpoint.provider_name]))
  return (
    <Filters
      of={[
        { name: 'query', typed },
        {
          name: 'type',
          label: t('models.type'),
          data: MODEL_TYPES.map((value) => ({ value, label: t(`type.${value}`) })),
        },
        {
          name: 'provider',
          label: t('log.filter_provider'),
          data: [...providers].map(([value, label]) => ({ value, label })),
          open: true,
        },
        {
          name: 'context',
          label: t('models.context_from'),
          data: CONTEXTS.map((tokens) => ({ value: String(tokens), label: `${tokens / 1_000}K` })),
        },
      ]}
    >
      <Checkbox
        label={t('models.allowed_only')}
        checked={filters.allowed === 'true'}
        onChange={({ currentTarget }) => filter('allowed', currentTarget.checked ? 'true' : null)}
        mb={8}
      />
    </Filters>
  )
}

interface ModelListProps {
  readonly models: readonly ModelRow[]
  readonly chosen: readonly string[]
  readonly toggle: (id: string) => void
}

function ModelList({ models, chosen, toggle }: ModelListProps) {
  return (
    <DataList
      name="models"
      label={t('nav.models')}
      rows={models}
      empty={{ picture: 'model', title: t('models.none'), text: t('models.none_text') }}
      hiddenAtFirst={HIDDEN}
      columns={[
        {
          id: 'model',
          title: t('usage.model'),
          value: 'id',
          cell: ({ name }) => name,
          to: ({ id }) => modelAt(id),
          code: ({ id }) => id,
          under: ({ allowed }) => !allowed && <StatusBadge tone="quiet">{t('models.not_allowed')}</StatusBadge>,
        },
        { id: 'type', title: t('models.type'), value: ({ type }) => t(`type.${type}`) },
        {
          id: 'context',
          title: t('models.context'),
          as: 'compact',
          value: 'context_length',
          cell: (model) => limitText(model, 'context_length', format.compact),
        },
        {
          id: 'prices',
          title: t('models.prices'),
          end: true,
          value: mainPrice,
          cell: ({ prices, coming }) => (
            <>
              <PriceLines prices={prices} most={2} />
              <ComingModelPrices coming={coming} most={2} />
            </>
          ),
        },
        { id: 'providers', title: t('models.providers'), as: 'clip', value: providersOf },
        { id: 'uptime', title: t('models.uptime'), as: 'percent', value: BEST.uptime },
        { id: 'speed', title: t('models.throughput'), as: 'speed', value: BEST.speed },
        { id: 'created', title: t('models.created'), as: 'date', value: ({ created }) => created },
        {
          id: 'compare',
          title: t('models.compare_short'),
          cell: ({ id, name }) => (
            <Checkbox
              checked={chosen.includes(id)}
              onChange={() => toggle(id)}
              aria-label={t('models.compare_this', { name })}
            />
          ),
        },
      ]}
    />
  )
}

function providersOf({ endpoints }: ModelRow): string {
  return endpoints.map((endpoint) => endpoint.provider_name).join(', ')
}

/**
 * The main price of a model of this type; null = it has none. It is only for sorting: charges are never computed with
 * it.
 */
function mainPrice({ type, prices }: ModelRow): number | null {
  const keys = ['prompt', ...MODEL_TYPE_TABLE[type].complete.map(([first]) => first ?? '')]
  const price = keys.map((key) => ownValue(prices, key)).find((each) => each !== undefined)
  return price === undefined ? null : Number(price)
}

/** The best value among the endpoints of a model; null = no endpoint has one. */
const BEST = {
  uptime: best((endpoint) => endpoint.uptime_1d, Math.max),
  ttft: best(({ ttft_ms: ttft }) => ttft?.p50 ?? null, Math.min),
  /** Output tokens per second. */
  speed: best(({ throughput }) => throughput?.p50 ?? null, Math.max),
}

function best(
  value: (endpoint: ModelEndpoint) => number | null,
  pick: (...values: number[]) => number,
): (model: ModelRow) => number | null {
  return ({ endpoints }) => {
    const known = endpoints.map(value).filter((each) => each !== null)
    return known.length === 0 ? null : pick(...known)
  }
}

/** A limit of a model; one that nobody has stated says so. */
function limitText(
  model: ModelRow,
  field: 'context_length' | 'max_completion_tokens',
  text: (tokens: number) => string,
): string {
  const count = model[field]
  if (count === null) return '–'
  return model.guessed.includes(field) ? t('models.guess', { tokens: text(count) }) : text(count)
}

/** A few models side by side. */
function Comparison({ models }: { readonly models: readonly ModelRow[] }) {
  const shown = (value: number | null, text: (known: number) => string): string => (value === null ? '–' : text(value))
  const perSecond = (tokens: number): string => t('request.per_second', { tokens: format.number(tokens) })
  const facts: readonly (readonly [name: string, value: (model: ModelRow) => ReactNode])[] = [
    [t('models.type'), ({ type }) => t(`type.${type}`)],
    [t('models.context'), (model) => limitText(model, 'context_length', format.number)],
    [t('models.most_output'), (model) => limitText(model, 'max_completion_tokens', format.number)],
    [t('models.takes'), (model) => modalityTexts(model.input_modalities)],
    [t('models.gives'), (model) => modalityTexts(model.output_modalities)],
    [t('models.prices'), ({ prices }) => <PriceLines prices={prices} />],
    [t('models.providers'), providersOf],
    [t('models.uptime'), (model) => shown(BEST.uptime(model), (value) => format.percent(value / 100))],
    [t('models.ttft'), (model) => shown(BEST.ttft(model), (value) => format.duration(value))],
    [t('models.throughput'), (model) => shown(BEST.speed(model), perSecond)],
    [t('models.created'), ({ created }) => format.date(created)],
  ]
  return (
    <ScrollArea viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('models.compare_title') }}>
      <Table miw={180 + models.length * 190} withRowBorders borderColor="var(--line)">
        <Table.Thead>
          <Table.Tr>
            <Table.Td />
            {models.map(({ id, name }) => (
              <Table.Th key={id} scope="col">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {facts.map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row">{name}</Table.Th>
              {models.map((model) => (
                <Table.Td key={model.id}>{value(model)}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  )
}
