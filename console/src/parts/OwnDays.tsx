import { DayField } from './DayField.tsx'
import { t } from './words.ts'
import type { DayRange } from './zoned-day.ts'

interface OwnDaysProps {
  readonly range: DayRange
  readonly change: (range: DayRange) => void
}

/** The first and the last day of a range. */
export function OwnDays({ range, change }: OwnDaysProps) {
  return (
    <>
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
