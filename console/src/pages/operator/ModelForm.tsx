import { Button, Card, CloseButton, Group, Input, Select, Stack, Switch, Tabs, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { isAbout } from '../../../../src/catalog/catalog-warning.ts'
import type { CatalogDocument, ModelEntry, Settings } from '../../../../src/api/admin/catalog-contract.ts'
import { PRICE_KEYS } from '../../../../src/tables/meter-table.ts'
import { MODEL_TYPES } from '../../../../src/tables/model-types.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { useUnsaved } from '../../parts/Dialog.tsx'
import { bound } from '../../parts/Form.tsx'
import { PlusIcon } from '../../parts/icons.ts'
import { Loaded } from '../../parts/Loaded.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { format, t } from '../../parts/words.ts'
import { priceName } from '../models/PriceLines.tsx'
import { ComingDay, useAnnounced } from './ComingPrices.tsx'
import { CATALOG_RENEWS, Compared, JsonField } from './catalog-edit.tsx'
import { parsedObject } from './provider-draft.ts'
import { withKnown } from './connect/connect-draft.ts'
import { KnownOf } from './KnownModel.tsx'
import { MarkupField } from './MarkupField.tsx'
import { MissingRates } from './Rates.tsx'
import {
  draftOf,
  type EndpointDraft,
  entryOf,
  firstLines,
  isComplete,
  isDecimal,
  isGuess,
  type ModelDraft,
  newEndpoint,
  newModel,
  type PriceLine,
  stated,
} from './model-draft.ts'
import price from './prices.module.css'
import { Note, Press } from '../../parts/cells.tsx'

/**
 * A model with its endpoints and prices, as fields or as the text of the catalogue file. The form shows the changes
 * before it applies them.
 */
export function ModelForm({ id, done }: { readonly id: string | null; readonly done: () => void }) {
  return (
    <WithSelling>
      {(document, selling) => (
        <Editor
          document={document}
          first={document.models.find((model) => model.id === id) ?? null}
          selling={selling}
          done={done}
        />
      )}
    </WithSelling>
  )
}

/** Loads the catalogue, and the factors that its prices are multiplied by. */
export function WithSelling({
  children,
}: {
  readonly children: (document: CatalogDocument, selling: Selling) => ReactNode
}) {
  const catalog = useRead('GET /admin/v1/catalog', {})
  const settings = useRead('GET /admin/v1/settings', {})
  return (
    <Loaded of={catalog} height={480}>
      {(document) => (
        <Loaded of={settings} height={480}>
          {(values) => children(document, sellingOf(values, document))}
        </Loaded>
      )}
    </Loaded>
  )
}

interface EditorProps {
  readonly document: CatalogDocument
  /** The model as the catalogue has it; null = a new model. */
  readonly first: ModelEntry | null
  readonly selling: Selling
  readonly done: () => void
}

function Editor({ document, first, selling, done }: EditorProps) {
  const providers = Object.keys(document.providers)
  const [draft, setDraft] = useState(() => (first === null ? newModel(providers[0] ?? '') : draftOf(first)))
  /** The text that the operator edits; null = the operator edits fields. */
  const [text, setText] = useState<string | null>(null)
  const look = useAct('PUT /admin/v1/catalog', { quiet: true })
  const saving = useSaving(done)
  // The text of a draft that nobody changed is that draft.
  useUnsaved(text === null || JSON.stringify(parsedObject(text)) === JSON.stringify(entryOf(draft)) ? draft : { text })
  const entry = text === null ? (isComplete(draft) ? entryOf(draft) : null) : parsedModel(text)
  const turn = (tab: string | null): void => {
    if (tab === 'text') return setText(JSON.stringify(entryOf(draft), null, 2))
    if (entry !== null) setDraft(draftOf(entry))
    setText(null)
  }
  const changed =
    <T,>(set: (value: T) => void) =>
    (value: T): void => {
      look.reset()
      saving.reset()
      set(value)
    }
  const compare = (): void => {
    if (entry === null) return
    const others = document.models.filter(({ id }) => id !== entry.id)
    look.mutate({ query: { dry_run: '1' }, body: { ...document, models: [...others, entry] } })
  }
  return (
    <Stack>
      <Tabs value={text === null ? 'fields' : 'text'} onChange={turn} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="fields" disabled={text !== null && entry === null}>
            {t('prices.fields')}
          </Tabs.Tab>
          <Tabs.Tab value="text">{t('prices.advanced')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="fields" pt="md">
          <ModelFields
            draft={draft}
            isNew={first === null}
            providers={providers}
            selling={selling}
            change={changed(setDraft)}
          />
        </Tabs.Panel>
        <Tabs.Panel value="text" pt="md">
          <Note mb="xs">{t('prices.form_lead')}</Note>
          <JsonField
            label={t('prices.entry')}
            value={text ?? ''}
            onChange={changed(setText)}
            minRows={12}
            formatOnBlur
            isWrong={entry === null}
          />
        </Tabs.Panel>
      </Tabs>
      {first !== null && <ComingDay value={saving.from} onChange={changed(saving.setFrom)} />}
      <Compared
        look={look}
        put={saving.call}
        ready={entry !== null}
        compare={compare}
        beside={first !== null && <DeleteModel id={first.id} done={done} />}
        apply={() => entry !== null && saving.save(entry)}
        concerns={(warning) => entry !== null && isAbout(warning, { model: entry.id })}
      />
    </Stack>
  )
}

/** Saves a model at once, or announces its prices for a day. */
function useSaving(done: () => void) {
  const [from, setFrom] = useState('')
  const put = useAct('PUT /admin/v1/models/*id', { quiet: true, said: t('common.saved'), renews: CATALOG_RENEWS, done })
  const later = useAnnounced(done)
  return {
    from,
    setFrom,
    call: from === '' ? put : later,
    reset: (): void => {
      put.reset()
      later.reset()
    },
    save: (entry: ModelEntry): void =>
      from === '' ? put.mutate({ params: { id: entry.id }, body: entry }) : later.announce(from, entry),
  }
}

function DeleteModel({ id, done }: { readonly id: string; readonly done: () => void }) {
  const remove = useAct('DELETE /admin/v1/models/*id', { renews: CATALOG_RENEWS, said: t('prices.deleted'), done })
  const ask = (): void =>
    remove.ask({
      name: 'model-delete',
      title: t('providers.ask_delete', { name: id }),
      text: t('prices.ask_delete_text'),
      input: { params: { id } },
    })
  return <Press variant="subtle" color="red" size="xs" onClick={ask} text={t('common.delete')} />
}

function sellingOf({ rates, markup }: Settings, { providers }: CatalogDocument): Selling {
  const ofCurrency = Object.entries(rates).filter(([currency]) => currency !== 'source')
  const ofProvider = Object.entries(providers).filter(([, entry]) => entry.markup !== undefined)
  return {
    rates: new Map([['RUB', 1], ...ofCurrency.map(([currency, rate]) => [currency, Number(rate)] as const)]),
    markup,
    markups: new Map(ofProvider.map(([slug, entry]) => [slug, Number(entry.markup)])),
  }
}

function parsedModel(text: string): ModelEntry | null {
  const value = parsedObject(text)
  const isModel =
    value !== null &&
    'id' in value &&
    typeof value.id === 'string' &&
    'endpoints' in value &&
    Array.isArray(value.endpoints) &&
    value.endpoints.every((one) => typeof Object(Object(one).price) === 'object' && Object(one).price instanceof Object)
  // The server checks the rest, field by field.
  return isModel ? (value as ModelEntry) : null
}

interface ModelFieldsProps {
  readonly draft: ModelDraft
  readonly isNew: boolean
  readonly providers: readonly string[]
  readonly selling: Selling
  readonly change: (draft: ModelDraft) => void
}

/** The fields of a model, then a card for each of its endpoints. */
function ModelFields({ draft, isNew, providers, selling, change }: ModelFieldsProps) {
  const { endpoints } = draft
  const setEndpoints = (changed: readonly EndpointDraft[]): void => change({ ...draft, endpoints: changed })
  return (
    <Stack>
      <Description draft={draft} isNew={isNew} change={change} />
      {isNew && endpoints.every(({ lines }) => lines.every(({ cost }) => cost === '')) && (
        <KnownOf id={draft.id} use={(known) => change(withKnown(entryOf(draft), known))} />
      )}
      <Group>
        <Switch label={t('prices.active')} {...bound(draft, change).flag('active')} />
        <Switch
          label={t('prices.listed')}
          checked={!draft.hidden}
          onChange={({ currentTarget }) => change({ ...draft, hidden: !currentTarget.checked })}
        />
      </Group>
      {endpoints.map((endpoint, index) => (
        <EndpointFields
          // A provider may appear twice and may be changed: only its position identifies it.
          key={index}
          endpoint={endpoint}
          providers={providers}
          selling={sellingAt(selling, endpoint.provider, draft.markup)}
          change={(changed) => setEndpoints(endpoints.with(index, changed))}
          remove={endpoints.length > 1 ? () => setEndpoints(endpoints.toSpliced(index, 1)) : null}
        />
      ))}
      <div>
        <Button
          size="xs"
          variant="default"
          leftSection={<PlusIcon size={15} />}
          onClick={() => setEndpoints([...endpoints, newEndpoint(providers[0] ?? '', draft.type)])}
        >
          {t('prices.add_endpoint')}
        </Button>
      </div>
    </Stack>
  )
}

/** What clients see of the model. Its type decides which prices an endpoint needs. */
function Description({ draft, isNew, change }: Pick<ModelFieldsProps, 'draft' | 'isNew' | 'change'>) {
  const of = bound(draft, change)
  const setType = (value: string | null): void => {
    const type = MODEL_TYPES.find((known) => known === value)
    if (type === undefined) return
    const endpoints = draft.endpoints.map((endpoint) => ({ ...endpoint, lines: firstLines(type) }))
    change({ ...draft, type, endpoints })
  }
  return (
    <div className="fields">
      <TextInput label={t('prices.id')} placeholder="vendor/name" required disabled={!isNew} {...of.text('id')} />
      <TextInput label={t('keys.name')} {...of.text('name')} />
      <Select
        label={t('models.type')}
        disabled={!isNew}
        data={MODEL_TYPES.map((value) => ({ value, label: t(`type.${value}`) }))}
        value={draft.type}
        onChange={setType}
      />
      <NumberField
        label={t('prices.context')}
        description={isGuess(draft, 'context_length') && t('prices.guess')}
        decimals={0}
        least={1}
        value={draft.context}
        onChange={(context) => change(stated({ ...draft, context }, 'context_length'))}
      />
      <NumberField
        label={t('prices.output')}
        description={isGuess(draft, 'max_completion_tokens') && t('prices.guess')}
        decimals={0}
        least={1}
        value={draft.output}
        onChange={(output) => change(stated({ ...draft, output }, 'max_completion_tokens'))}
      />
      <MarkupField {...of.value('markup')} />
    </div>
  )
}

const PRICE_DECIMALS = 12

export interface Selling {
  /** RUB per unit of each currency, RUB included. */
  readonly rates: ReadonlyMap<string, number>
  /** The markup of the service. */
  readonly markup: number
  /** The markups of the providers that have their own. */
  readonly markups: ReadonlyMap<string, number>
}

/** The most specific factor: the model's, its provider's or the service's. */
export function sellingAt(selling: Selling, provider: string, ofModel: string): Selling {
  const own = isDecimal(ofModel) && Number(ofModel) > 0 ? Number(ofModel) : null
  return { ...selling, markup: own ?? selling.markups.get(provider) ?? selling.markup }
}

interface EndpointFieldsProps {
  readonly endpoint: EndpointDraft
  readonly providers: readonly string[]
  readonly selling: Selling
  readonly change: (endpoint: EndpointDraft) => void
  /** null = the model's only endpoint, which cannot be removed. */
  readonly remove: (() => void) | null
}

/** One provider of the model: what it calls the model, its prices, our prices and the margin. */
function EndpointFields({ endpoint, providers, selling, change, remove }: EndpointFieldsProps) {
  const setLine = (index: number, line: PriceLine): void =>
    change({ ...endpoint, lines: endpoint.lines.with(index, line) })
  const own = (ownPrices: boolean): void =>
    change({
      ...endpoint,
      ownPrices,
      lines: endpoint.lines.map((line) => ({
        ...line,
        sell: ownPrices && line.sell === '' ? markedUp(line, endpoint, selling) : line.sell,
      })),
    })
  return (
    <Card component="fieldset" padding="md" m={0}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Text component="legend" fw={600} size="sm">
            {endpoint.provider === '' ? t('prices.endpoint') : endpoint.provider}
          </Text>
          {remove !== null && (
            <Press size="compact-xs" variant="subtle" color="red" onClick={remove} text={t('common.delete')} />
          )}
        </Group>
        <Upstream endpoint={endpoint} providers={providers} selling={selling} change={change} />
        <Switch
          label={t('prices.own')}
          description={t('prices.own_hint', { markup: format.number(selling.markup, 6) })}
          checked={endpoint.ownPrices}
          onChange={({ currentTarget }) => own(currentTarget.checked)}
        />
        <CacheMarks endpoint={endpoint} change={change} />
        {endpoint.lines.map((line, index) => (
          <LineFields
            key={`${line.meter} ${line.variant ?? ''}`}
            line={line}
            endpoint={endpoint}
            selling={selling}
            change={(changed) => setLine(index, changed)}
            remove={() => change({ ...endpoint, lines: endpoint.lines.toSpliced(index, 1) })}
          />
        ))}
        <AddPrice endpoint={endpoint} change={change} />
      </Stack>
    </Card>
  )
}

/** The provider, what it calls the model, and the currency of its prices. */
function Upstream({ endpoint, providers, selling, change }: Omit<EndpointFieldsProps, 'remove'>) {
  const of = bound(endpoint, change)
  const currencies = [...new Set([...selling.rates.keys(), 'USD', endpoint.currency])]
  return (
    <>
      <div className="fields">
        <Select label={t('prices.provider')} searchable required data={[...providers]} {...of.value('provider')} />
        <TextInput label={t('prices.upstream')} required {...of.text('model')} />
        <Select label={t('prices.currency')} data={currencies} {...of.value('currency')} />
      </div>
      <MissingRates currencies={selling.rates.has(endpoint.currency) ? [] : [endpoint.currency]} />
    </>
  )
}

/** Whether prompts without cache marks get them, for prices that include cache writes. */
function CacheMarks({ endpoint, change }: Pick<EndpointFieldsProps, 'endpoint' | 'change'>) {
  if (endpoint.lines.every(({ meter }) => meter !== 'input_cache_write')) return null
  const { cache_marks: marked, ...kept } = endpoint.kept
  return (
    <Switch
      label={t('prices.cache_marks')}
      description={t('prices.cache_marks_hint')}
      checked={marked === true}
      onChange={({ currentTarget }) =>
        change({ ...endpoint, kept: currentTarget.checked ? { ...kept, cache_marks: true } : kept })
      }
    />
  )
}

/** Adds a line for a price that the endpoint does not have yet. */
function AddPrice({ endpoint, change }: Pick<EndpointFieldsProps, 'endpoint' | 'change'>) {
  const unused = PRICE_KEYS.filter((meter) => endpoint.lines.every((line) => line.meter !== meter))
  return (
    <Select
      aria-label={t('prices.add_price')}
      placeholder={t('prices.add_price')}
      leftSection={<PlusIcon size={15} />}
      size="xs"
      w={260}
      data={unused.map((meter) => ({ value: meter, label: priceName(meter) }))}
      value={null}
      onChange={(meter) =>
        meter !== null &&
        change({ ...endpoint, lines: [...endpoint.lines, { meter, variant: null, cost: '', sell: '' }] })
      }
    />
  )
}

interface LineProps {
  readonly line: PriceLine
  readonly endpoint: EndpointDraft
  readonly selling: Selling
  readonly change: (line: PriceLine) => void
  readonly remove: () => void
}

function LineFields({ line, endpoint, selling, change, remove }: LineProps) {
  const of = bound(line, change)
  const label = priceName(line.variant === null ? line.meter : `${line.meter}:${line.variant}`)
  const rate = selling.rates.get(endpoint.currency)
  const cost = isDecimal(line.cost) && rate !== undefined ? Number(line.cost) * rate : null
  const own = isDecimal(line.sell) ? Number(line.sell) : null
  const sells = endpoint.ownPrices ? own : cost === null ? null : cost * selling.markup
  const margin = cost === null || sells === null || sells === 0 ? null : (sells - cost) / sells
  const bounds = { decimals: PRICE_DECIMALS, least: 0 }
  return (
    <div className={price.line}>
      <NumberField
        label={t('prices.cost_of', { price: label })}
        unit={endpoint.currency}
        {...bounds}
        {...of.value('cost')}
      />
      {endpoint.ownPrices ? (
        <NumberField label={t('prices.sells_for')} unit="₽" {...bounds} {...of.value('sell')} />
      ) : (
        <Input.Wrapper label={t('prices.sells_for')} labelElement="div" className={price.shown ?? ''}>
          <Text size="sm">{sells === null ? '–' : format.price(sells)}</Text>
        </Input.Wrapper>
      )}
      <Input.Wrapper label={t('prices.margin')} labelElement="div" className={price.shown ?? ''}>
        <Text size="sm" {...(margin !== null && margin < 0 ? { c: 'red' } : {})}>
          {margin === null ? '–' : format.percent(margin)}
        </Text>
      </Input.Wrapper>
      <CloseButton aria-label={t('prices.remove', { price: label })} onClick={remove} />
    </div>
  )
}

/** The selling price by the markup. A custom price starts with it. */
function markedUp({ cost }: PriceLine, { currency }: EndpointDraft, { rates, markup }: Selling): string {
  const rate = rates.get(currency)
  return isDecimal(cost) && rate !== undefined ? String(Number((Number(cost) * rate * markup).toFixed(6))) : ''
}
