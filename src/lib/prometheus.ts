export type Labels = Readonly<Record<string, string>>

export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** How the values of several processes are combined; absent = their sum. */
  readonly over?: 'sum' | 'max' | 'min'
  /** Read on request. A histogram's samples have their own suffix. */
  readonly samples: () => Iterable<Sample>
}

export interface Sample {
  readonly labels?: Labels
  readonly value: number
  /** `_bucket`, `_sum` or `_count` of a histogram. */
  readonly suffix?: string
}

/** A metric's values at one moment, in a form that can be sent to another process. */
export interface MetricReading extends Omit<Metric, 'samples'> {
  readonly samples: readonly Sample[]
}

export function readMetrics(metrics: readonly Metric[]): readonly MetricReading[] {
  return metrics.map((metric) => {
    const { name, help, type, over } = metric
    return { name, help, type, ...(over === undefined ? {} : { over }), samples: [...metric.samples()] }
  })
}

/** Combines the metrics of several processes: counts are added, gauges are combined as they declare. */
export function mergeReadings(all: readonly (readonly MetricReading[])[]): readonly MetricReading[] {
  const merged = new Map<string, { readonly first: MetricReading; readonly samples: Map<string, Sample> }>()
  for (const reading of all.flat()) {
    const known = merged.get(reading.name) ?? { first: reading, samples: new Map<string, Sample>() }
    merged.set(reading.name, known)
    for (const sample of reading.samples) {
      const key = `${sample.suffix ?? ''}${JSON.stringify(sample.labels ?? {})}`
      const before = known.samples.get(key)
      known.samples.set(
        key,
        before === undefined
          ? sample
          : { ...sample, value: combined(reading.over ?? 'sum', before.value, sample.value) },
      )
    }
  }
  return [...merged.values()].map(({ first, samples }) => ({ ...first, samples: [...samples.values()] }))
}

function combined(over: NonNullable<Metric['over']>, left: number, right: number): number {
  switch (over) {
    case 'sum':
      return left + right
    case 'max':
      return Math.max(left, right)
    case 'min':
      return Math.min(left, right)
  }
}

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Prometheus' text format. */
export function prometheusText(readings: readonly MetricReading[]): string {
  return readings
    .map(({ name, help, type, samples }) =>
      [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples.map((sample) => lineOf(name, sample)), ''].join(
        '\n',
      ),
    )
    .join('')
}

function lineOf(name: string, { labels = {}, value, suffix = '' }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${Number.isNaN(value) ? 'NaN' : value}`
}

function escaped(text: string): string {
  return text
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)
}

/** A metric with one value and no labels. */
export function gauge(
  name: string,
  help: string,
  read: () => number,
  over: NonNullable<Metric['over']> = 'sum',
): Metric {
  return { name, help, type: 'gauge', over, samples: () => [{ value: read() }] }
}

/** Further combinations of labels are counted as `other`, so that nobody can fill the memory with names. */
const SERIES_MAX = 2_000

/** Numbers that only increase, one for each combination of labels. */
export class Counter implements Metric {
  readonly name: string
  readonly help: string
  readonly type = 'counter'
  readonly #labels: readonly string[]
  readonly #series = new Map<string, { readonly values: readonly string[]; value: number }>()

  constructor(name: string, help: string, labels: readonly string[] = []) {
    this.name = name
    this.help = help
    this.#labels = labels
  }

  /** Values in the order of the labels. */
  add(value: number, ...values: readonly string[]): void {
    const key = values.join('\n')
    const known = this.#series.get(key)
    if (known !== undefined) known.value += value
    else if (this.#series.size < SERIES_MAX) this.#series.set(key, { values, value })
    else if (values.some((text) => text !== 'other')) this.add(value, ...values.map(() => 'other'))
    else this.#series.set(key, { values, value })
  }

  *samples(): Iterable<Sample> {
    if (this.#labels.length === 0 && this.#series.size === 0) yield { value: 0 }
    for (const { values, value } of this.#series.values())
      yield { labels: Object.fromEntries(this.#labels.map((label, index) => [label, values[index] ?? ''])), value }
  }
}

/** A distribution of durations, in seconds. */
export class Histogram implements Metric {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly #label: string
  readonly #bounds: readonly number[]
  readonly #series = new Map<string, { readonly counts: number[]; sum: number; count: number }>()

  constructor(name: string, help: string, label: string, bounds: readonly number[]) {
    this.name = name
    this.help = help
    this.#label = label
    this.#bounds = bounds
  }

  observe(seconds: number, of: string): void {
    let series = this.#series.get(of)
    if (series === undefined) {
      if (this.#series.size >= SERIES_MAX) return
      series = { counts: this.#bounds.map(() => 0), sum: 0, count: 0 }
      this.#series.set(of, series)
    }
    series.sum += seconds
    series.count += 1
    const bucket = this.#bounds.findIndex((bound) => seconds <= bound)
    if (bucket !== -1) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
  }

  *samples(): Iterable<Sample> {
    for (const [of, { counts, sum, count }] of this.#series) {
      let below = 0
      for (const [index, bound] of this.#bounds.entries()) {
        below += counts[index] ?? 0
        yield { suffix: '_bucket', labels: { [this.#label]: of, le: String(bound) }, value: below }
      }
      yield { suffix: '_bucket', labels: { [this.#label]: of, le: '+Inf' }, value: count }
      yield { suffix: '_sum', labels: { [this.#label]: of }, value: sum }
      yield { suffix: '_count', labels: { [this.#label]: of }, value: count }
    }
  }
}
