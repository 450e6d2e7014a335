const STEPS = [1, 2, 2.5, 5, 10] as const
const TICKS = 4

/** Round values from 0 up to at least `most`, for an axis. */
export function axisTicks(most: number, isWhole: boolean): readonly number[] {
  if (most <= 0) return [0, 1]
  const rough = most / TICKS
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max((STEPS.find((candidate) => candidate * power >= rough) ?? 10) * power, isWhole ? 1 : 0)
  const count = Math.ceil(most / step - 1e-9)
  return Array.from({ length: count + 1 }, (_value, index) => index * step)
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
