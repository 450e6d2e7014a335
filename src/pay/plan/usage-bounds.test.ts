import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { Usage } from '../../tables/meters.ts'
import { countedReport, measureUsage, type UsageLimits } from './usage-bounds.ts'

function report(usage: Usage, fields: Partial<UsageReport> = {}): UsageReport {
  return { ...countedReport(0, 0), usage, inputTokens: usage.input ?? 0, outputTokens: usage.output ?? 0, ...fields }
}

function limits(inputMax: number, outputMax: number, fields: Partial<UsageLimits> = {}): UsageLimits {
  return { inputMax: () => inputMax, outputMax, count: () => assert.fail('counted'), ...fields }
}

test('what there can be passes as it is, and small input costs no look at the request', () => {
  const honest = report({ input: 1_000, output: 100 })
  const inputMax = (): number => assert.fail('measured')
  assert.deepEqual(measureUsage(honest, limits(0, 100, { inputMax })), {
    report: honest,
    reported: honest,
    flagged: false,
    basis: 'provider_usage',
  })
  assert.equal(measureUsage(report({ input: 2_500, output: 1 }), limits(1_500, 100)).flagged, false)
})

test('rule 10: more input or output than there can be is not charged, flagged, and kept as what the provider bills', () => {
  const said = report({ input: 2_501, output: 101 })
  const { report: billed, reported, flagged } = measureUsage(said, limits(1_500, 100))
  assert.deepEqual(
    [billed.usage, billed.inputTokens, billed.outputTokens, flagged],
    [{ input: 2_500, output: 100 }, 2_500, 100, true],
  )
  assert.equal(reported, said)
})

test('a bound keeps the share of cached tokens', () => {
  const { report: billed } = measureUsage(report({ input: 1_000_000, cache_read: 3_000_000 }), limits(0, 1))
  assert.deepEqual(billed.usage, { input: 250, cache_read: 750 })
  assert.equal(billed.cachedTokens, 750)
})

test('rule 9: a side that the provider did not count is counted, in its own meters, and never 0', () => {
  const count = (): UsageReport => report({ input: 3, audio_input: 40, output: 5 })
  const output = measureUsage(report({ input: 20 }, { missing: ['output'] }), limits(100, 100, { count }))
  assert.deepEqual([output.report.usage, output.basis, output.flagged], [{ input: 20, output: 5 }, 'counted', false])
  const input = measureUsage(
    report({ output: 7 }, { missing: ['input'], implausible: true }),
    limits(100, 100, { count }),
  )
  assert.deepEqual(
    [input.report.usage, input.report.inputTokens, input.flagged],
    [{ input: 3, audio_input: 40, output: 7 }, 43, true],
  )
})

test('of several calls together our own count is the least, and what they told is kept', () => {
  const count = (): UsageReport => countedReport(50, 60)
  const told = report({ input: 20, cache_read: 20, output: 90 }, { missing: ['input', 'output'] })
  assert.deepEqual(measureUsage(told, limits(100, 100, { count })).report.usage, {
    input: 30,
    cache_read: 20,
    output: 90,
  })
})

test('an explicit 0 stays 0', () => {
  assert.deepEqual(measureUsage(report({ input: 0, output: 0 }), limits(0, 0)).report.usage, { input: 0, output: 0 })
})

test('counted usage has the two plain meters', () => {
  const counted = countedReport(7, 9)
  assert.deepEqual(
    [counted.usage, counted.inputTokens, counted.outputTokens, counted.implausible],
    [{ input: 7, output: 9 }, 7, 9, false],
  )
})

test('property: the whole report of a provider is its cost, and the billed part is whole, within the bounds and never more', () => {
  const units = fc.oneof(fc.nat(20_000), fc.constant(Number.MAX_SAFE_INTEGER))
  const usage = fc.record(
    { input: units, cache_read: units, cache_write: units, output: units, reasoning: units },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(usage, fc.nat(5_000), fc.integer({ min: 1, max: 5_000 }), (said, inputMax, outputMax) => {
      const { report: billed, reported, flagged } = measureUsage(report(said), limits(inputMax, outputMax))
      assert.equal(reported.usage, said)
      assert.equal(flagged, billed.usage !== said)
      for (const value of Object.values(billed.usage)) assert.ok(Number.isSafeInteger(value) && value >= 0)
      const sum = (of: Usage, ...meters: (keyof Usage)[]): number =>
        meters.reduce((total, meter) => total + (of[meter] ?? 0), 0)
      assert.equal(
        sum(billed.usage, 'input', 'cache_read', 'cache_write'),
        Math.min(inputMax + 1_000, Math.max(sum(said, 'input', 'cache_read', 'cache_write'), 0)),
      )
      assert.equal(sum(billed.usage, 'output', 'reasoning'), Math.min(outputMax, sum(said, 'output', 'reasoning')))
    }),
  )
})
