/** Rates as lines `USD: 92.50`, or `source: cbr`. */
export function ratesText(rates: Readonly<Record<string, number | string>>): string {
  return Object.entries(rates)
    .map(([name, rate]) => `${name}: ${rate}`)
    .join('\n')
}

/** null = a line is not a rate. */
export function ratesOf(text: string): Readonly<Record<string, number | string>> | null {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const pairs = lines.map((line) => /^(source|[A-Z]{3}):\s*([a-z]+|\d+(?:\.\d+)?)$/.exec(line))
  if (pairs.some((pair) => pair === null)) return null
  return Object.fromEntries(
    pairs.map((pair) => [pair?.[1] ?? '', pair?.[1] === 'source' ? (pair[2] ?? '') : Number(pair?.[2])]),
  )
}
