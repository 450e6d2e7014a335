import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { UsageReport } from '../kinds/chat-answer.ts'
import type { Usage } from '../meters.ts'
import { boundUsage, countedReport, type UsageLimits } from './usage-bounds.ts'

function report(usage: Usage, implausible = false): UsageReport {
  return { ...countedReport(0, 0), usage, inputTokens: usage.input ?? 0, outputTokens: usage.output ?? 0, implausible }
}

function limits(count: number, maxTokens: number, fields: Partial<UsageLimits> = {}): UsageLimits {
  return { maxTokens, countInput: () => count, ...fields }
}

test('plausible usage passes as it is, and small input is never tokenised', () => {
  const honest = report({ input: 1_000, output: 126 })
  const countInput = (): number => assert.fail('tokenised')
  assert.deepEqual(boundUsage(honest, limits(0, 100, { countInput })), { report: honest, flagged: false })
  const long = report({ input: 2_500, output: 1 })
  assert.equal(boundUsage(long, limits(0, 100, { countInput, countAtLeast: () => 1_000 })).flagged, false)
})

test('input above 1.5 × count + 1000 is clamped to it and flagged', () => {
  assert.equal(boundUsage(report({ input: 2_500 }), limits(1_000, 100)).flagged, false)
  const { report: clamped, flagged } = boundUsage(report({ input: 2_501 }), limits(1_000, 100))
  assert.deepEqual([clamped.usage, clamped.inputTokens, flagged], [{ input: 2_500 }, 2_500, true])
})

test('output above max_tokens × 1.1 + 16 is clamped to it and flagged, with the slack of each answer', () => {
  assert.equal(boundUsage(report({ output: 126 }), limits(1, 100)).flagged, false)
  assert.deepEqual(boundUsage(report({ output: 127 }), limits(1, 100)).report.usage, { output: 126 })
  assert.equal(boundUsage(report({ output: 252 }), limits(1, 200, { n: 2 })).flagged, false)
})

test('numbers that are no safe integers become the bound, negatives 0', () => {
  const clamp = (usage: Usage): Usage => boundUsage(report(usage, true), limits(10, 100)).report.usage
  assert.deepEqual(clamp({ input: 5, output: Number.NaN }), { input: 5, output: 126 })
  assert.deepEqual(clamp({ input: Infinity, output: 5 }), { input: 1_015, output: 5 })
  assert.deepEqual(clamp({ input: 2 ** 60, output: -5 }), { input: 1_015, output: 0 })
  assert.deepEqual(clamp({ input: 1.5, output: 3 }), { input: 2, output: 3 })
})

test('a clamp keeps the share of cached tokens', () => {
  const { report: clamped } = boundUsage(report({ input: 1_000_000, cache_read: 3_000_000 }), limits(0, 1))
  assert.deepEqual(clamped.usage, { input: 250, cache_read: 750 })
  assert.equal(clamped.cachedTokens, 750)
})

test('counted usage has the two plain meters', () => {
  const counted = countedReport(7, 9)
  assert.deepEqual([counted.usage, counted.inputTokens, counted.outputTokens, counted.implausible], [{ input: 7, output: 9 }, 7, 9, false])
})

test('property: whatever a provider reports, what is billed is whole, non-negative and within the bounds', () => {
  const units = fc.oneof(fc.integer({ min: -10, max: 20_000 }), fc.double(), fc.constant(Number.MAX_SAFE_INTEGER))
  const usage = fc.record({ input: units, cache_read: units, cache_write: units, output: units, reasoning: units }, { requiredKeys: [] })
  fc.assert(
    fc.property(usage, fc.nat(5_000), fc.integer({ min: 1, max: 5_000 }), fc.boolean(), (reported, count, maxTokens, implausible) => {
      const { report: billed } = boundUsage(report(reported, implausible), limits(count, maxTokens))
      for (const value of Object.values(billed.usage)) assert.ok(Number.isSafeInteger(value) && value >= 0)
      const sum = (...meters: (keyof Usage)[]): number => meters.reduce((total, meter) => total + (billed.usage[meter] ?? 0), 0)
      assert.ok(sum('input', 'cache_read', 'cache_write') <= Math.floor(count * 1.5) + 1_000)
      assert.ok(sum('output', 'reasoning') <= Math.floor((maxTokens * 11) / 10) + 16)
    }),
  )
})
