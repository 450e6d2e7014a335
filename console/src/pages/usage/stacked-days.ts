import type { UsageAnswer } from '../../../../src/cabinet/log-contract.ts'
import type { ChartSeries } from '../../parts/DayChart.tsx'

const SERIES_MAX = 6
const OTHERS = 'others'

export interface StackedDays {
  readonly days: readonly Readonly<Record<string, number | string>>[]
  readonly series: readonly ChartSeries[]
}

/**
 * The figures of each day by group, for a stacked chart. The smaller groups are added up to one. `unnamed` names groups
 * without a label.
 */
export function stackedDays(
  usage: UsageAnswer,
  what: 'cost' | 'requests',
  unnamed: (id: string) => string,
): StackedDays {
  const shown = usage.groups.filter(({ id }) => id !== '…rest').slice(0, SERIES_MAX)
  // A group's id may be any text, even `day`.
  const names = new Map(shown.map(({ id }, index) => [id, `g${index}`]))
  const byDay = new Map(usage.days.map(({ day }) => [day, new Map<string, number>()]))
  for (const cell of usage.cells) {
    const name = names.get(cell.group) ?? OTHERS
    const day = byDay.get(cell.day)
    day?.set(name, (day.get(name) ?? 0) + cell[what])
  }
  const hasOthers = [...byDay.values()].some((day) => day.has(OTHERS))
  const series = shown.map(({ id, label }) => ({
    name: names.get(id) ?? id,
    label: label === '' ? unnamed(id) : label,
  }))
  const all = hasOthers ? [...series, { name: OTHERS, label: unnamed('…rest') }] : series
  return {
    days: [...byDay].map(([day, values]) => ({
      day,
      ...Object.fromEntries(all.map(({ name }) => [name, values.get(name) ?? 0])),
    })),
    series: all,
  }
}
