const STEPS = [1, 2, 2.5, 5, 10] as const
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

/** Where things are in a chart by day, in px. */
export interface Scale {
  readonly width: number
  readonly height: number
  /** The edges of the part that shows values. */
  readonly left: number
  readonly top: number
  readonly bottom: number
  /** The width of a day. */
  readonly step: number
  readonly ticks: readonly Tick[]
  /** The middle of a day. */
  readonly x: (day: number) => number
  readonly y: (value: number) => number
  /** The day at a distance from the left edge of the chart; null = no day. */
  readonly dayAt: (x: number) => number | null
}

interface ScaleOptions {
  readonly width: number
  readonly height: number
  readonly days: number
  /** The values that must have room. */
  readonly ends: readonly number[]
  readonly isWhole: boolean
  readonly tickText: (value: number) => string
}

export function chartScale({ width, height, days, ends, isWhole, tickText }: ScaleOptions): Scale {
  const values = axisTicks(Math.min(0, ...ends), Math.max(0, ...ends), isWhole)
  const ticks = values.map((value) => ({ value, text: tickText(value) }))
  const left = axisWidthPx(ticks.map(({ text }) => text))
  const least = values[0] ?? 0
  const most = values.at(-1) ?? 1
  const step = Math.max(0, width - left) / Math.max(1, days)
  const bottom = height - BOTTOM_PX
  return {
    width,
    height,
    left,
    top: TOP_PX,
    bottom,
    step,
    ticks,
    x: (day) => left + step * (day + 0.5),
    y: (value) => TOP_PX + (bottom - TOP_PX) * (1 - (value - least) / (most - least)),
    dayAt: (x) => {
      const day = Math.floor((x - left) / step)
      return day >= 0 && day < days ? day : null
    },
  }
}

/** Round values for an axis from `least`, 0 or below, up to at least `most`. */
function axisTicks(least: number, most: number, isWhole: boolean): readonly number[] {
  if (most - least <= 0) return [0, 1]
  const rough = (most - least) / TICKS
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max((STEPS.find((candidate) => candidate * power >= rough) ?? 10) * power, isWhole ? 1 : 0)
  const first = Math.floor(least / step + 1e-9)
  const last = Math.ceil(most / step - 1e-9)
  return Array.from({ length: last - first + 1 }, (_value, index) => (first + index) * step)
}

/** Room for the texts of an axis, of 12 px, with the gap to its lines. */
function axisWidthPx(texts: readonly string[]): number {
  return Math.max(AXIS_LEAST_PX, AXIS_GAP_PX + Math.ceil(Math.max(0, ...texts.map((text) => text.length)) * LETTER_PX))
}

export interface Band {
  readonly from: number
  readonly to: number
}

/** Each series of a day on top of those before it. */
export function stacked(values: readonly number[]): readonly Band[] {
  const bands: Band[] = []
  for (const value of values) {
    const from = bands.at(-1)?.to ?? 0
    bands.push({ from, to: from + Math.max(0, value) })
  }
  return bands
}
