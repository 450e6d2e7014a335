import { useRead } from '../../api/hooks.ts'
import { NumberField } from '../../parts/NumberField.tsx'
import { writtenNumber } from '../../parts/number-text.ts'
import { format, t } from '../../parts/words.ts'

const DECIMALS = 12
const CUSTOMER_MOST = 1_000

interface MarkupFieldProps {
  /** A decimal; empty = a more general rule applies. */
  readonly value?: string
  readonly onChange: (markup: string) => void
  readonly description?: string
  readonly required?: boolean
  readonly placeholder?: string
}

/** A price rule: the factor that the provider's price is multiplied by. An empty field shows the default. */
export function MarkupField(props: MarkupFieldProps) {
  const settings = useRead('GET /admin/v1/settings', {})
  return (
    <NumberField
      label={t('service.markup')}
      placeholder={String(settings.data?.markup ?? '')}
      decimals={DECIMALS}
      least={0.000_001}
      maw={320}
      {...props}
    />
  )
}

/** A markup of an account or a group, with its meaning beside it. */
export function CustomerMarkupField({ value = '', ...rest }: MarkupFieldProps) {
  return (
    <NumberField
      label={t('field.markup')}
      description={value === '' || Number.isNaN(Number(value)) ? t('customers.markup_hint') : markupShare(value)}
      decimals={DECIMALS}
      least={0.000_000_000_001}
      most={CUSTOMER_MOST}
      maw={320}
      value={value}
      {...rest}
    />
  )
}

/** A markup, exactly. */
export function markupFactor(markup: string): string {
  return `× ${writtenNumber(markup, format.decimalMark)}`
}

/** A markup as a share above or below everybody's prices. */
export function markupShare(markup: string): string {
  // For display only.
  const off = Number(markup) - 1
  if (off === 0) return t('customers.as_listed')
  return t(off < 0 ? 'customers.below' : 'customers.above', { share: format.percent(Math.abs(off)) })
}
