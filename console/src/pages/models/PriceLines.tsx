import { Text } from '@mantine/core'
import type { ModelRow, Prices } from '../../../../src/api/cabinet/model-contract.ts'
import { PRICE_SCALES, PRICED_METERS } from '../../../../src/tables/meter-table.ts'
import { MODALITIES, type Modality } from '../../../../src/tables/model-types.ts'
import { currentLanguage } from '../../i18n.ts'
import { format, t } from '../../parts/words.ts'

/** Prices with their names; `most` limits the list. */
export function PriceLines({ prices, most = Infinity }: { readonly prices: Prices; readonly most?: number }) {
  const lines = Object.entries(prices)
    .filter(([, price]) => most === Infinity || Number(price) > 0)
    .slice(0, most)
  if (lines.length === 0) return Object.keys(prices).length > 0 ? t('models.free') : '–'
  return (
    <div>
      {lines.map(([meter, price]) => (
        <Text key={meter} size="sm" component="div">
          {format.price(price)}{' '}
          <Text span size="xs" c="dimmed">
            {priceName(meter)}
          </Text>
        </Text>
      ))}
    </div>
  )
}

/** Conditional prices: each condition with the prices that it changes. */
export function PriceConditions({ conditions }: { readonly conditions: ModelRow['conditions'] }) {
  return conditions.map(({ condition, prices }) => (
    <div key={condition}>
      <Text size="xs" fw={600} mt={4}>
        {condition}
      </Text>
      <PriceLines prices={prices} />
    </div>
  ))
}

/** What a model costs from a later time on. */
export function ComingModelPrices({ coming, most = Infinity }: Pick<ModelRow, 'coming'> & { readonly most?: number }) {
  if (coming === null) return null
  return (
    <>
      <Text size="xs" fw={600} mt={6}>
        {t('models.from', { time: format.moment(coming.from) })}
      </Text>
      <PriceLines prices={coming.prices} most={most} />
      {most === Infinity && <PriceConditions conditions={coming.conditions} />}
    </>
  )
}

/** Turns the name of a meter into the name of its price, such as `prompt` → «входные, за 1 млн токенов». */
export function priceName(meter: string): string {
  const [base = meter, size] = meter.split(/[.:@/ ]/, 2)
  const row = PRICED_METERS.find(({ priceKey }) => priceKey === base)
  const shown = row === undefined ? meter : t(`price.${row.priceKey}`)
  const unit = row === undefined ? undefined : PRICE_SCALES[row.scale].label?.[currentLanguage()]
  return [shown, size, unit].filter((part) => part !== undefined && part !== '').join(' ')
}

/** Names of modalities in the reader's language; a modality that is not in the table stays unchanged. */
export function modalityTexts(modalities: readonly string[]): string {
  return modalities.map((name) => (isModality(name) ? t(`modality.${name}`) : name)).join(', ')
}

function isModality(name: string): name is Modality {
  return Object.hasOwn(MODALITIES, name)
}
