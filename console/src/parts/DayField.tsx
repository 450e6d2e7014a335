import { DateInput } from '@mantine/dates'
import '@mantine/dates/styles.css'
import dayjs from 'dayjs'
import 'dayjs/locale/en-gb'
import 'dayjs/locale/ru'
import customParseFormat from 'dayjs/plugin/customParseFormat'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'

dayjs.extend(customParseFormat)

export interface DayFieldProps {
  readonly label: string
  readonly description?: string
  /** `YYYY-MM-DD`; empty = none. */
  readonly value: string
  readonly onChange: (day: string) => void
  /** A required day has no button that clears it. */
  readonly required?: boolean
  readonly min?: string
  readonly max?: string
  /** Small, with its name inside. */
  readonly compact?: boolean
}

/** A day that is typed or picked, in the format of the chosen language. A native field would use the browser's language. */
export function DayField({
  label,
  description,
  value,
  onChange,
  required = false,
  min,
  max,
  compact = false,
}: DayFieldProps): ReactNode {
  const { t, i18n } = useTranslation()
  const isRussian = i18n.language === 'ru'
  return (
    <DateInput
      {...(compact ? { 'aria-label': label, size: 'xs' } : { label, description })}
      value={value === '' ? null : value}
      onChange={(day) => (day !== null || !required) && onChange(day ?? '')}
      locale={isRussian ? 'ru' : 'en-gb'}
      valueFormat={isRussian ? 'DD.MM.YYYY' : 'DD/MM/YYYY'}
      placeholder={compact ? label : t('range.format')}
      clearable={!required}
      clearButtonProps={{ 'aria-label': t('common.clear') }}
      nextLabel={t('range.next')}
      previousLabel={t('range.previous')}
      ariaLabels={{ monthLevelControl: t('range.to_months'), yearLevelControl: t('range.to_years') }}
      {...(min === undefined ? {} : { minDate: min })}
      {...(max === undefined ? {} : { maxDate: max })}
    />
  )
}
