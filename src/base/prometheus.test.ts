import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Counter,
  gauge,
  Histogram,
  mergeReadings,
  prometheusText,
  readingsByWorker,
  readMetrics,
} from './prometheus.ts'

test('counters, gauges and histograms as Prometheus reads them', () => {
  const counter = new Counter('c_total', 'Counts.', ['a', 'b'])
  counter.add(1, 'x', 'with "quotes"\nand \\')
  counter.add(2, 'x', 'with "quotes"\nand \\')
  const histogram = new Histogram('h_seconds', 'Times.', ['route'], [0.1, 1])
  for (const seconds of [0.05, 0.1, 0.5, 7]) histogram.observe(seconds, '/v1')
  assert.equal(
    prometheusText(
      readMetrics([counter, gauge('g', 'Now.', () => 1.5), histogram, new Counter('n_total', 'None yet.')]),
    ),
    [
      '# HELP c_total Counts.',
      '# TYPE c_total counter',
      String.raw`c_total{a="x",b="with \"quotes\"\nand \\"} 3`,
      '# HELP g Now.',
      '# TYPE g gauge',
      'g 1.5',
      '# HELP h_seconds Times.',
      '# TYPE h_seconds histogram',
      'h_seconds_bucket{route="/v1",le="0.1"} 2',
      'h_seconds_bucket{route="/v1",le="1"} 3',
      'h_seconds_bucket{route="/v1",le="+Inf"} 4',
      'h_seconds_sum{route="/v1"} 7.65',
      'h_seconds_count{route="/v1"} 4',
      '# HELP n_total None yet.',
      '# TYPE n_total counter',
      'n_total 0',
      '',
    ].join('\n'),
  )
})

test('names of OpenTelemetry get their unit; an empty label is left out; workers stand for themselves', () => {
  const histogram = new Histogram('gen_ai.x.duration', 'Times.', ['gen_ai.a', 'error.type'], [1], 's')
  histogram.observe(0.5, 'chat', '')
  const metrics = readMetrics([histogram])
  const lines = prometheusText(
    readingsByWorker([
      { worker: '7', metrics },
      { worker: '8', metrics },
    ]),
  ).split('\n')
  assert.deepEqual(
    lines.filter((line) => line.includes('_count')),
    [
      'gen_ai_x_duration_seconds_count{worker="7",gen_ai_a="chat"} 1',
      'gen_ai_x_duration_seconds_count{worker="8",gen_ai_a="chat"} 1',
    ],
  )
})

test('label values beyond two thousand are counted as other', () => {
  const counter = new Counter('c_total', 'Counts.', ['name'])
  for (let count = 0; count < 5_000; count += 1) counter.add(1, `name ${count}`)
  const samples = [...counter.samples()]
  assert.ok(samples.length <= 2_001)
  assert.equal(
    samples.reduce((sum, { value }) => sum + value, 0),
    5_000,
  )
})

test('several processes read as one: counts add up, series by series, and gauges as they say', () => {
  const process = (answers: number, ready: number, route: string): ReturnType<typeof readMetrics> => {
    const counter = new Counter('c_total', 'Counts.', ['route'])
    counter.add(answers, route)
    counter.add(1, '/both')
    const histogram = new Histogram('h_seconds', 'Times.', ['route'], [1])
    histogram.observe(answers, '/both')
    return readMetrics([
      counter,
      histogram,
      gauge('running', 'Now.', () => answers),
      gauge('ready', 'Least.', () => ready, 'min'),
      gauge('late', 'Most.', () => answers, 'max'),
    ])
  }
  // One of the readings is in the form in which another process sends it.
  const all = mergeReadings([process(2, 1, '/a'), JSON.parse(JSON.stringify(process(5, 0, '/b')))])
  assert.deepEqual(
    prometheusText(all)
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')),
    [
      'c_total{route="/a"} 2',
      'c_total{route="/both"} 2',
      'c_total{route="/b"} 5',
      'h_seconds_bucket{route="/both",le="1"} 0',
      'h_seconds_bucket{route="/both",le="+Inf"} 2',
      'h_seconds_sum{route="/both"} 7',
      'h_seconds_count{route="/both"} 2',
      'running 7',
      'ready 0',
      'late 5',
    ],
  )
})
