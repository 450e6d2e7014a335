import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Prices } from '../../../../src/api/cabinet/model-contract.ts'
import { PRICE_SCALES, PRICED_METERS } from '../../../../src/tables/meter-table.ts'
import { currentLanguage } from '../../i18n.ts'
import { useFormat } from '../../parts/use-format.ts'

/** Prices with their names; `most` limits the list. */
export function PriceLines({
  prices,
  most = Infinity,
}: {
  readonly prices: Prices
  readonly most?: number
}): ReactNode {
  const name = usePriceName()
  const format = useFormat()
  const { t } = useTranslation()
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
            {name(meter)}
          </Text>
        </Text>
      ))}
    </div>
  )
}

/** `prompt` → «входные, за 1 млн токенов» and the like. */
export function usePriceName(): (meter: string) => string {
  const { t } = useTranslation()
  return (meter) => {
    const [base = meter, size] = meter.split(/[.:@/ ]/, 2)
    const row = PRICED_METERS.find(({ priceKey }) => priceKey === base)
    const shown = row === undefined ? meter : t(`price.${row.priceKey}`)
    const unit = row === undefined ? undefined : PRICE_SCALES[row.scale].label?.[currentLanguage()]
    return [shown, size, unit].filter((part) => part !== undefined && part !== '').join(' ')
  }
}
