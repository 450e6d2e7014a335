import { DayField } from './DayField.tsx'
import { t } from './words.ts'
import type { DayRange } from './zoned-day.ts'

interface OwnDaysProps {
  readonly range: DayRange
  readonly change: (range: DayRange) => void
  /** Small fields, which may be empty. */
  readonly compact: boolean
}

/** The first and the last day of a range. */
export function OwnDays({ range, change, compact }: OwnDaysProps) {
  return (['from', 'to'] as const).map((edge) => (
    <DayField
      key={edge}
      label={t(`range.${edge}`)}
      value={range[edge]}
      required={!compact}
      compact={compact}
      // Of two days in the wrong order the one that was not chosen goes.
      onChange={(day) => {
        const next: Record<keyof DayRange, string> = { ...range, [edge]: day }
        if (next.from > next.to && next.to !== '') next[edge === 'from' ? 'to' : 'from'] = compact ? '' : day
        change(next)
      }}
    />
  ))
}
