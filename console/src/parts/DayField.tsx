import { Select } from '@mantine/core'
import { DateInput } from '@mantine/dates'
import '@mantine/dates/styles.css'
import { useSearch } from '@tanstack/react-router'
import dayjs from 'dayjs'
import 'dayjs/locale/en-gb'
import 'dayjs/locale/ru'
import customParseFormat from 'dayjs/plugin/customParseFormat'
import type { ReactNode } from 'react'
import { isDay } from '../../../src/base/time.ts'
import { given } from '../api/endpoint.ts'
import { currentLanguage } from '../i18n.ts'
import { type Search, useChange } from './list-place.ts'
import { t } from './words.ts'
import { type DayRange, lastDays, monthDays, today } from './zoned-day.ts'
import { useSession } from '../session.tsx'

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

const PRESETS = {
  days_1: (now) => lastDays(1, now),
  days_7: (now) => lastDays(7, now),
  days_30: (now) => lastDays(30, now),
  this_month: (now) => monthDays('this', now),
  last_month: (now) => monthDays('last', now),
  days_90: (now) => lastDays(90, now),
  days_365: (now) => lastDays(365, now),
} as const satisfies Readonly<Record<string, (now: string) => DayRange>>
type Preset = keyof typeof PRESETS
// The keys of the object.
const NAMES = Object.keys(PRESETS) as Preset[]
const AT_FIRST: Preset = 'days_30'

interface Range {
  readonly range: DayRange
  readonly preset: Preset | 'own'
  readonly pick: (preset: Preset) => void
  readonly change: (range: DayRange) => void
}

/** The days that a page shows, in the service's time zone. They are in its address: a period up to now, or two days. */
export function useRange(): Range {
  const { range: wish, from = '', to = '' }: Search = useSearch({ strict: false })
  const change = useChange()
  const now = today(useSession().service.service_timezone)
  const preset = NAMES.find((name) => name === wish) ?? AT_FIRST
  const own = isDay(from) && isDay(to) && from <= to
  return {
    range: own ? { from, to } : PRESETS[preset](now),
    preset: own ? 'own' : preset,
    pick: (name) => change({ range: name === AT_FIRST ? null : name, from: null, to: null, offset: null }, false),
    change: (days) => change({ range: null, ...days, offset: null }, false),
  }
}

/** Fields for a range of whole days: a preset, or two days. */
export function RangeFields({ range, preset, pick, change }: Range) {
  return (
    <>
      <Select
        label={t('range.period')}
        value={preset}
        data={[
          ...NAMES.map((value) => ({ value: value as Preset | 'own', label: t(`range.${value}`) })),
          { value: 'own' as const, label: t('range.own') },
        ]}
        onChange={(value) => (value === 'own' ? change(range) : value !== null && pick(value))}
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
