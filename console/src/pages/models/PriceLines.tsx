import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Prices } from '../../../../src/cabinet/contract.ts'
import { useFormat } from '../../parts/use-format.ts'

const PER_MILLION: readonly string[] = [
  'prompt',
  'completion',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_1h',
  'internal_reasoning',
  'audio',
  'audio_output',
  'characters',
]

/** Prices with what they are for; `most` cuts the list short. */
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
  return lines.map(([meter, price]) => (
    <Text key={meter} size="sm" component="div" ta="end">
      {format.price(price)}{' '}
      <Text span size="xs" c="dimmed">
        {name(meter)}
      </Text>
    </Text>
  ))
}

/** `prompt` → «входные, за 1 млн токенов» and the like. */
export function usePriceName(): (meter: string) => string {
  const { t, i18n } = useTranslation()
  return (meter) => {
    const [base = meter, size] = meter.split(/[.:@/ ]/, 2)
    const shown = i18n.exists(`price.${base}`) ? t(`price.${base}` as 'price.prompt') : meter
    const unit =
      base === 'characters'
        ? t('price.per_million_characters')
        : PER_MILLION.includes(base)
          ? t('price.per_million')
          : ''
    return [shown, size, unit].filter((part) => part !== undefined && part !== '').join(' ')
  }
}
