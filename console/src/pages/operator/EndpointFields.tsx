import { Button, Card, CloseButton, Group, Select, Stack, Switch, Text, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { PlusIcon } from '../../parts/icons.ts'
import { NumberField } from '../../parts/NumberField.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from '../../style/layout.module.css'
import { PRICE_KEYS } from '../../../../src/tables/meter-table.ts'
import { usePriceName } from '../models/PriceLines.tsx'
import { isDecimal, type EndpointDraft, type PriceLine } from './model-draft.ts'
import price from './prices.module.css'

const PRICE_DECIMALS = 12

export interface Selling {
  /** RUB per unit of each currency, RUB included. */
  readonly rates: ReadonlyMap<string, number>
  /** Of the service. */
  readonly markup: number
  /** Of the providers that have their own. */
  readonly markups: ReadonlyMap<string, number>
}

/** What the nearest price rule multiplies with: the model's, its provider's or the service's. */
export function sellingAt(selling: Selling, provider: string, ofModel: string): Selling {
  const own = isDecimal(ofModel) && Number(ofModel) > 0 ? Number(ofModel) : null
  return { ...selling, markup: own ?? selling.markups.get(provider) ?? selling.markup }
}

export interface EndpointFieldsProps {
  readonly endpoint: EndpointDraft
  readonly providers: readonly string[]
  readonly selling: Selling
  readonly change: (endpoint: EndpointDraft) => void
  /** null = a model must keep its only endpoint. */
  readonly remove: (() => void) | null
}

/** A provider that serves the model: its name for the model, its prices, our prices and the margin. */
export function EndpointFields({ endpoint, providers, selling, change, remove }: EndpointFieldsProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
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
            <Button size="compact-xs" variant="subtle" color="red" onClick={remove}>
              {t('common.delete')}
            </Button>
          )}
        </Group>
        <Upstream endpoint={endpoint} providers={providers} selling={selling} change={change} />
        <Switch
          label={t('prices.own')}
          description={t('prices.own_hint', { markup: format.number(selling.markup, 6) })}
          checked={endpoint.ownPrices}
          onChange={({ currentTarget }) => own(currentTarget.checked)}
        />
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

/** The provider, its name for the model, and the currency of its prices. */
function Upstream({ endpoint, providers, selling, change }: Omit<EndpointFieldsProps, 'remove'>): ReactNode {
  const { t } = useTranslation()
  return (
    <div className={css.fields}>
      <Select
        label={t('prices.provider')}
        searchable
        allowDeselect={false}
        required
        data={[...providers]}
        value={endpoint.provider}
        onChange={(provider) => provider !== null && change({ ...endpoint, provider })}
      />
      <TextInput
        label={t('prices.upstream')}
        required
        value={endpoint.model}
        onChange={({ currentTarget }) => change({ ...endpoint, model: currentTarget.value })}
      />
      <Select
        label={t('prices.currency')}
        allowDeselect={false}
        data={[...new Set([...selling.rates.keys(), endpoint.currency])]}
        value={endpoint.currency}
        onChange={(currency) => currency !== null && change({ ...endpoint, currency })}
      />
    </div>
  )
}

/** Adds a line for a price that the endpoint does not have yet. */
function AddPrice({ endpoint, change }: Pick<EndpointFieldsProps, 'endpoint' | 'change'>): ReactNode {
  const { t } = useTranslation()
  const name = usePriceName()
  const unused = PRICE_KEYS.filter((meter) => endpoint.lines.every((line) => line.meter !== meter))
  return (
    <Select
      aria-label={t('prices.add_price')}
      placeholder={t('prices.add_price')}
      leftSection={<PlusIcon size={15} />}
      size="xs"
      w={260}
      data={unused.map((meter) => ({ value: meter, label: name(meter) }))}
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

function LineFields({ line, endpoint, selling, change, remove }: LineProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const name = usePriceName()
  const label = name(line.variant === null ? line.meter : `${line.meter}:${line.variant}`)
  const rate = selling.rates.get(endpoint.currency)
  const cost = isDecimal(line.cost) && rate !== undefined ? Number(line.cost) * rate : null
  const sells = endpoint.ownPrices
    ? isDecimal(line.sell)
      ? Number(line.sell)
      : null
    : cost === null
      ? null
      : cost * selling.markup
  const margin = cost === null || sells === null || sells === 0 ? null : (sells - cost) / sells
  return (
    <div className={price.line}>
      <NumberField
        label={t('prices.cost_of', { price: label })}
        unit={endpoint.currency}
        decimals={PRICE_DECIMALS}
        least={0}
        value={line.cost}
        onChange={(cost) => change({ ...line, cost })}
      />
      {endpoint.ownPrices ? (
        <NumberField
          label={t('prices.sells_for')}
          unit="₽"
          decimals={PRICE_DECIMALS}
          least={0}
          value={line.sell}
          onChange={(sell) => change({ ...line, sell })}
        />
      ) : (
        <div className={price.shown}>
          <Text size="sm" fw={500}>
            {t('prices.sells_for')}
          </Text>
          <Text size="sm">{sells === null ? '–' : format.price(sells)}</Text>
        </div>
      )}
      <div className={price.shown}>
        <Text size="sm" fw={500}>
          {t('prices.margin')}
        </Text>
        <Text size="sm" {...(margin !== null && margin < 0 ? { c: 'red' } : {})}>
          {margin === null ? '–' : format.percent(margin)}
        </Text>
      </div>
      <CloseButton aria-label={t('prices.remove', { price: label })} onClick={remove} />
    </div>
  )
}

/** The selling price that the markup gives. A custom price starts with it. */
function markedUp({ cost }: PriceLine, { currency }: EndpointDraft, { rates, markup }: Selling): string {
  const rate = rates.get(currency)
  return isDecimal(cost) && rate !== undefined ? String(Number((Number(cost) * rate * markup).toFixed(6))) : ''
}
