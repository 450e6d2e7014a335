import { DayField } from './DayField.tsx'
import { t } from './words.ts'
import type { DayRange } from './zoned-day.ts'

interface OwnDaysProps {
  readonly range: DayRange
  readonly change: (range: DayRange) => void
  /** They may be empty. */
  readonly open: boolean
  /** Small fields. */
  readonly compact: boolean
}

/** The first and the last day of a range. */
export function OwnDays({ range, open, change, compact }: OwnDaysProps) {
  return (['from', 'to'] as const).map((edge) => (
    <DayField
      key={edge}
      label={t(`range.${edge}`)}
      value={range[edge]}
      required={!open}
      compact={compact}
      // Of two days in the wrong order the one that was not chosen goes.
      onChange={(day) => {
        const next: Record<keyof DayRange, string> = { ...range, [edge]: day }
        if (next.from > next.to && next.to !== '') next[edge === 'from' ? 'to' : 'from'] = open ? '' : day
        change(next)
      }}
    />
  ))
}
