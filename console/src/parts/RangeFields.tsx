import { Select } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { DayField } from './DayField.tsx'
import { lastDays, monthDays, type DayRange } from './day-range.ts'

/** The first one whose days are shown is named, so a month comes after the days that it may equal. */
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

/** A range of whole days: a preset, or two days. */
export function RangeFields({
  range,
  change,
}: {
  readonly range: DayRange
  readonly change: (range: DayRange) => void
}): ReactNode {
  const { t } = useTranslation()
  const preset = NAMES.find((name) => {
    const { from, to } = PRESETS[name]()
    return range.from === from && range.to === to
  })
  return (
    <>
      <Select
        label={t('range.period')}
        allowDeselect={false}
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
