import { DateInput } from '@mantine/dates'
import '@mantine/dates/styles.css'
import dayjs from 'dayjs'
import 'dayjs/locale/en-gb'
import 'dayjs/locale/ru'
import customParseFormat from 'dayjs/plugin/customParseFormat'
import type { ReactNode } from 'react'
import { given } from '../api/endpoint.ts'
import { currentLanguage } from '../i18n.ts'
import { t } from './words.ts'

dayjs.extend(customParseFormat)

interface DayFieldProps {
  readonly label: string
  readonly description?: string
  /** `YYYY-MM-DD`; empty = none. */
  readonly value?: string
  readonly onChange: (day: string) => void
  readonly error?: ReactNode
  /** A required day has no button to clear it. */
  readonly required?: boolean
  readonly min?: string
  /** Small, with its label inside the field. */
  readonly compact?: boolean
}

/**
 * A day that is typed or picked, in the format of the chosen language. A native date field would use the browser's
 * language.
 */
export function DayField({
  label,
  description,
  value = '',
  onChange,
  error,
  required = false,
  min,
  compact = false,
}: DayFieldProps) {
  const isRussian = currentLanguage() === 'ru'
  return (
    <DateInput
      {...(compact ? { 'aria-label': label, size: 'xs' } : { label, description, error })}
      value={value === '' ? null : value}
      onChange={(day) => (day !== null || !required) && onChange(day ?? '')}
      locale={isRussian ? 'ru' : 'en-gb'}
      valueFormat={isRussian ? 'DD.MM.YYYY' : 'DD/MM/YYYY'}
      placeholder={compact ? label : t('range.format')}
      clearable={!required}
      nextLabel={t('range.next')}
      previousLabel={t('range.previous')}
      ariaLabels={{ monthLevelControl: t('range.to_months'), yearLevelControl: t('range.to_years') }}
      {...given({ minDate: min })}
    />
  )
}
