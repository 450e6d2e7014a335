import { Select } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { isDay } from '../../../src/base/time.ts'
import { useSession } from '../session.tsx'
import { ChoiceField, CompactChoice } from './Filters.tsx'
import { type Search, useChange } from './list-place.ts'
import { onDemand } from './OnDemand.tsx'
import { format, t } from './words.ts'
import { type DayRange, lastDays, monthDays, shownDay, timesOf, today } from './zoned-day.ts'

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
  /** null = all days. */
  readonly preset: Preset | 'own' | null
  /** All days may be shown, and one side may be open. */
  readonly open: boolean
  readonly pick: (preset: Preset | null) => void
  readonly change: (range: DayRange) => void
}

/** The days that a page shows, in the service's time zone. They are in its address: a period up to now, or two days. */
export function useRange(): Range {
  const { range: wish, from = '', to = '' }: Search = useSearch({ strict: false })
  const now = today(useSession().service.service_timezone)
  const preset = NAMES.find((name) => name === wish) ?? AT_FIRST
  const own = isDay(from) && isDay(to) && from <= to
  return {
    range: own ? { from, to } : PRESETS[preset](now),
    preset: own ? 'own' : preset,
    open: false,
    ...usePick(AT_FIRST),
  }
}

function usePick(first: Preset | null): Pick<Range, 'pick' | 'change'> {
  const change = useChange()
  return {
    pick: (name) => change({ range: name === first ? null : name, from: null, to: null, offset: null }, false),
    change: (days) => change({ range: null, ...days, offset: null }, false),
  }
}

/** The days of a log, in the reader's time zone: all, unless its address names some. One side may be open. */
export function useLogRange(): Range {
  const { range: wish, from, to }: Search = useSearch({ strict: false })
  const { zone } = format
  const own = from !== undefined || to !== undefined
  const preset = NAMES.find((name) => name === wish) ?? null
  return {
    range: own
      ? { from: shownDay(from, zone, 'from'), to: shownDay(to, zone, 'to') }
      : PRESETS[preset ?? AT_FIRST](today(zone)),
    preset: own ? 'own' : preset,
    open: true,
    ...usePick(null),
  }
}

/** The times of the days at an address of a log. */
export function logTimes({ range: wish, from, to }: Search): ReturnType<typeof timesOf> {
  const { zone } = format
  const preset = NAMES.find((name) => name === wish)
  const days =
    from === undefined && to === undefined && preset !== undefined ? PRESETS[preset](today(zone)) : { from, to }
  return timesOf(days.from, days.to, zone)
}

/** The calendar is larger than most pages, and few need it. */
const OwnDays = onDemand('OwnDays', () => import('./OwnDays.tsx'), 60)

/** Fields for a range of whole days: a preset, or two days. `compact`: small ones. */
export function RangeFields({
  range,
  preset,
  open,
  pick,
  change,
  compact = false,
}: Range & { readonly compact?: boolean }) {
  const Field = compact ? CompactChoice : open ? ChoiceField : Select
  const props = {
    label: t('range.period'),
    value: preset as string | null,
    data: [...NAMES, 'own' as const].map((value) => ({ value: value as string, label: t(`range.${value}`) })),
    onChange: (value: string | null) =>
      value === 'own' ? change(range) : pick(NAMES.find((name) => name === value) ?? null),
  }
  return (
    <>
      <Field {...props} />
      {preset === 'own' && <OwnDays range={range} open={open} change={change} compact={compact} />}
    </>
  )
}
