import { scaleBand, scaleLinear } from '@visx/scale'
import type { Figures } from './chart-figures.ts'

const TICKS = 4
const AXIS_LEAST_PX = 66
const AXIS_GAP_PX = 12
/** The mean of a digit, a Cyrillic letter and a sign of a currency. */
const LETTER_PX = 7.2
const BOTTOM_PX = 26
const TOP_PX = 8

interface Tick {
  readonly value: number
  readonly text: string
}

interface ScaleOptions {
  readonly kind: 'area' | 'bars'
  readonly figures: Figures
  readonly width: number
  readonly height: number
}

/** Where things are in a chart by day, in px. */
export function chartScale({ kind, figures: { rows, isWhole, tickText }, width, height }: ScaleOptions) {
  const tops = kind === 'bars' ? rows.map((values) => values.reduce((sum, value) => sum + Math.max(0, value), 0)) : []
  const values = kind === 'bars' ? tops : rows.flat()
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)]
  const [bottom, top] = [height - BOTTOM_PX, TOP_PX]
  const y = scaleLinear<number>({
    domain: least === most ? [0, 1] : [least, most],
    range: [bottom, top],
    nice: TICKS,
  })
  const ticks = y
    .ticks(TICKS)
    .filter((value) => !isWhole || Number.isInteger(value))
    .map((value): Tick => ({ value, text: tickText(value) }))
  const left = axisWidthPx(ticks.map(({ text }) => text))
  const x = scaleBand<number>({ domain: [...rows.keys()], range: [left, Math.max(left, width)] })
  return {
    x,
    y,
    ticks,
    left,
    top,
    bottom,
    /** The middle of a day. */
    middle: (day: number): number => (x(day) ?? left) + x.bandwidth() / 2,
    /** The day at a distance from the left edge of the chart; null = no day. */
    dayAt: (distance: number): number | null => {
      const day = Math.floor((distance - left) / x.step())
      return day >= 0 && day < rows.length ? day : null
    },
  }
}

export type Scale = ReturnType<typeof chartScale>

/** Room for the texts of an axis, of 12 px, with the gap to its lines. */
function axisWidthPx(texts: readonly string[]): number {
  return Math.max(AXIS_LEAST_PX, AXIS_GAP_PX + Math.ceil(Math.max(0, ...texts.map((text) => text.length)) * LETTER_PX))
}
