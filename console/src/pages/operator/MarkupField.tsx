import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useRead } from '../../api/hooks.ts'
import { NumberField } from '../../parts/NumberField.tsx'

const MARKUP_DECIMALS = 12

export interface MarkupFieldProps {
  /** A decimal; empty = a wider rule applies. */
  readonly value: string
  readonly onChange: (markup: string) => void
  readonly description?: string
}

/** A price rule: what the provider's price is multiplied with. The service's stands in an empty field. */
export function MarkupField({ value, onChange, description }: MarkupFieldProps): ReactNode {
  const { t } = useTranslation()
  const settings = useRead('GET /admin/v1/settings', {})
  return (
    <NumberField
      label={t('service.markup')}
      description={description}
      placeholder={String(settings.data?.markup ?? '')}
      decimals={MARKUP_DECIMALS}
      least={0.000_001}
      maw={320}
      value={value}
      onChange={onChange}
    />
  )
}
