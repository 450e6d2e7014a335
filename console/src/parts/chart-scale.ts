const STEPS = [1, 2, 2.5, 5, 10] as const
const TICKS = 4
const AXIS_LEAST_PX = 66
const AXIS_GAP_PX = 12
/** The mean of a digit, a Cyrillic letter and a sign of a currency. */
const LETTER_PX = 7.2

/** Round values for an axis from `least`, 0 or below, up to at least `most`. */
export function axisTicks(least: number, most: number, isWhole: boolean): readonly number[] {
  if (most - least <= 0) return [0, 1]
  const rough = (most - least) / TICKS
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max((STEPS.find((candidate) => candidate * power >= rough) ?? 10) * power, isWhole ? 1 : 0)
  const first = Math.floor(least / step + 1e-9)
  const last = Math.ceil(most / step - 1e-9)
  return Array.from({ length: last - first + 1 }, (_value, index) => (first + index) * step)
}

/** Room for the texts of an axis, of 12 px, with the gap to its lines. */
export function axisWidthPx(texts: readonly string[]): number {
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
