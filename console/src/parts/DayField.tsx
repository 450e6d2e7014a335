import { Select } from '@mantine/core'
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
import { type DayRange, lastDays, monthDays } from './zoned-day.ts'

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
  readonly max?: string
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
  max,
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
      {...given({ minDate: min, maxDate: max })}
    />
  )
}

/** The first preset with the chosen days is shown as selected, so months come after presets with equal days. */
const PRESETS = {
  days_1: () => lastDays(1),
  days_7: () => lastDays(7),
  days_30: () => lastDays(30),
  this_month: () => monthDays('this'),
  last_month: () => monthDays('last'),
  days_90: () => lastDays(90),
  days_365: () => lastDays(365),
} as const satisfies Readonly<Record<string, () => DayRange>>
// The keys of the object.
const NAMES = Object.keys(PRESETS) as (keyof typeof PRESETS)[]

interface RangeFieldsProps {
  readonly range: DayRange
  readonly change: (range: DayRange) => void
}

/** Fields for a range of whole days: a preset, or two days. */
export function RangeFields({ range, change }: RangeFieldsProps) {
  const preset = NAMES.find((name) => {
    const { from, to } = PRESETS[name]()
    return range.from === from && range.to === to
  })
  return (
    <>
      <Select
        label={t('range.period')}
        value={preset ?? 'own'}
        data={[
          ...NAMES.map((value) => ({ value: value as string, label: t(`range.${value}`) })),
          { value: 'own', label: t('range.own') },
        ]}
        onChange={(value) => {
          const name = NAMES.find((known) => known === value)
          if (name !== undefined) change(PRESETS[name]())
        }}
      />
      <DayField
        label={t('range.from')}
        value={range.from}
        max={range.to}
        required
        onChange={(from) => change({ ...range, from })}
      />
      <DayField
        label={t('range.to')}
        value={range.to}
        min={range.from}
        required
        onChange={(to) => change({ ...range, to })}
      />
    </>
  )
}
