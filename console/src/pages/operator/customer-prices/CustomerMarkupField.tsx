import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { NumberField } from '../../../parts/NumberField.tsx'
import { useMarkupText } from './markup-text.ts'

const DECIMALS = 12
const MOST = 1_000

interface CustomerMarkupFieldProps {
  /** A decimal; empty = a wider rule applies. */
  readonly value?: string
  readonly onChange: (markup: string) => void
  readonly required?: boolean
  readonly placeholder?: string
}

/** A markup of an account or a group, with what it means beside it. */
export function CustomerMarkupField({ value = '', ...rest }: CustomerMarkupFieldProps): ReactNode {
  const { t } = useTranslation()
  const text = useMarkupText()
  return (
    <NumberField
      label={t('field.markup')}
      description={value === '' || Number.isNaN(Number(value)) ? t('customers.markup_hint') : text.share(value)}
      decimals={DECIMALS}
      least={0.000_000_000_001}
      most={MOST}
      maw={320}
      value={value}
      {...rest}
    />
  )
}
