export type Labels = Readonly<Record<string, string>>

/** The name by the conventions of OpenTelemetry. Prometheus' name has `_` for each dot, and the unit at its end. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** A unit that the name does not say; a unit in braces is left out of Prometheus' name. */
  readonly unit?: 's' | '{token}'
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

/** The metrics of one worker; `worker` is its process id, or `ended` for the counts of those that have ended. */
export interface WorkerReadings {
  readonly worker: string
  readonly metrics: readonly MetricReading[]
}

/** A metric's values at one moment, in a form that can be sent to another process. */
export interface MetricReading extends Omit<Metric, 'samples'> {
  readonly samples: readonly Sample[]
}

export function readMetrics(metrics: readonly Metric[]): readonly MetricReading[] {
  return metrics.map((metric) => {
    const { name, help, type, unit, over } = metric
    return {
      name,
      help,
      type,
      ...(unit === undefined ? {} : { unit }),
      ...(over === undefined ? {} : { over }),
      samples: [...metric.samples()],
    }
  })
}

/** The metrics of all workers, each with a label that names its worker. */
export function readingsByWorker(all: readonly WorkerReadings[]): readonly MetricReading[] {
  return mergeReadings(
    all.map(({ worker, metrics }) =>
      metrics.map((reading) => ({
        ...reading,
        samples: reading.samples.map((sample) => ({ ...sample, labels: { worker, ...sample.labels } })),
      })),
    ),
  )
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
    .map(({ name: given, unit, help, type, samples }) => {
      const name = `${underscored(given)}${unit === 's' ? '_seconds' : ''}`
      return [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${type}`,
        ...samples.map((sample) => lineOf(name, sample)),
        '',
      ].join('\n')
    })
    .join('')
}

function underscored(name: string): string {
  return name.replaceAll('.', '_')
}

function lineOf(name: string, { labels = {}, value, suffix = '' }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${underscored(label)}="${escaped(text)}"`)
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

/** The most combinations of labels. Further ones are counted as `other`, so nobody can fill the memory with names. */
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

  /** `values` are in the order of the labels. */
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

/** A distribution for each combination of labels. */
export class Histogram implements Metric {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly unit?: NonNullable<Metric['unit']>
  readonly #labels: readonly string[]
  readonly #bounds: readonly number[]
  readonly #series = new Map<
    string,
    { readonly values: readonly string[]; readonly counts: number[]; sum: number; count: number }
  >()

  constructor(
    name: string,
    help: string,
    labels: readonly string[],
    bounds: readonly number[],
    unit?: NonNullable<Metric['unit']>,
  ) {
    this.name = name
    this.help = help
    this.#labels = labels
    this.#bounds = bounds
    if (unit !== undefined) this.unit = unit
  }

  /** `values` are in the order of the labels; an empty value leaves its label out. */
  observe(value: number, ...values: readonly string[]): void {
    const key = values.join('\n')
    let series = this.#series.get(key)
    if (series === undefined) {
      if (this.#series.size >= SERIES_MAX) return
      series = { values, counts: this.#bounds.map(() => 0), sum: 0, count: 0 }
      this.#series.set(key, series)
    }
    series.sum += value
    series.count += 1
    const bucket = this.#bounds.findIndex((bound) => value <= bound)
    if (bucket !== -1) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
  }

  *samples(): Iterable<Sample> {
    for (const { values, counts, sum, count } of this.#series.values()) {
      const labels = Object.fromEntries(
        this.#labels.map((label, index) => [label, values[index] ?? '']).filter(([, value]) => value !== ''),
      )
      let below = 0
      for (const [index, bound] of this.#bounds.entries()) {
        below += counts[index] ?? 0
        yield { suffix: '_bucket', labels: { ...labels, le: String(bound) }, value: below }
      }
      yield { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count }
      yield { suffix: '_sum', labels, value: sum }
      yield { suffix: '_count', labels, value: count }
    }
  }
}
