export interface ChartSeries {
  readonly name: string
  readonly label: string
}

/** What a chart shows, in words and numbers. */
export interface Figures {
  readonly days: readonly string[]
  /** The values of a day, one for each series. */
  readonly rows: readonly (readonly number[])[]
  readonly series: readonly ChartSeries[]
  readonly isWhole: boolean
  readonly nameOf: (day: string) => string
  /** The same below the axis, where there is little room. */
  readonly tickOf: (day: string) => string
  readonly valueText: (value: number) => string
  readonly tickText: (value: number) => string
}

/** In `base.css`. */
const COLOURS = 8

export function colourOf(series: number): string {
  return `var(--chart-${(series % COLOURS) + 1})`
}
