import { useTranslation } from 'react-i18next'
import { useFormat } from '../../../parts/use-format.ts'
import { writtenNumber } from '../../../parts/number-text.ts'

/** How a markup is written: exactly, and as a share above or below everybody's prices. */
export function useMarkupText(): {
  readonly factor: (markup: string) => string
  readonly share: (markup: string) => string
} {
  const { t } = useTranslation()
  const format = useFormat()
  const factor = (markup: string): string => `× ${writtenNumber(markup, format.decimalMark)}`
  return {
    factor,
    share: (markup) => {
      // For display only.
      const off = Number(markup) - 1
      if (off === 0) return t('customers.as_listed')
      return t(off < 0 ? 'customers.below' : 'customers.above', { share: format.percent(Math.abs(off)) })
    },
  }
}
