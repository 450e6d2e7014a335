import { Select } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { isDay } from '../../../src/base/time.ts'
import { useSession } from '../session.tsx'
import { type Search, useChange } from './list-place.ts'
import { onDemand } from './OnDemand.tsx'
import { t } from './words.ts'
import { type DayRange, lastDays, monthDays, today } from './zoned-day.ts'

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

/** The calendar is larger than most pages, and few need it. */
const OwnDays = onDemand('OwnDays', () => import('./OwnDays.tsx'), 60)

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
      {preset === 'own' && <OwnDays range={range} change={change} />}
    </>
  )
}
