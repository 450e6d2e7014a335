import { Select } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { DayField } from './DayField.tsx'
import { daysBack, today, type DayRange } from './day-range.ts'

const PRESETS = ['1', '7', '30', '90', '365'] as const

/** A range of whole days: a preset, or two days. */
export function RangeFields({
  range,
  change,
}: {
  readonly range: DayRange
  readonly change: (range: DayRange) => void
}): ReactNode {
  const { t } = useTranslation()
  const preset = PRESETS.find((days) => range.to === today() && range.from === daysBack(Number(days) - 1))
  return (
    <>
      <Select
        label={t('range.period')}
        allowDeselect={false}
        value={preset ?? 'own'}
        data={[
          ...PRESETS.map((value) => ({ value: value as string, label: t(`range.days_${value}`) })),
          { value: 'own', label: t('range.own') },
        ]}
        onChange={(value) =>
          value !== null && value !== 'own' && change({ from: daysBack(Number(value) - 1), to: today() })
        }
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
