import type { UsageReport } from '../kinds/chat-answer.ts'
import { INPUT_METERS, OUTPUT_METERS, type Meter, type Usage } from '../meters.ts'

/** What a provider's own template may put around a text of any length. */
const INPUT_SLACK = 1_000

export interface UsageLimits {
  /**
   * The most tokens that the input can be, but for the provider's own template; asked only where there are more than
   * those.
   */
  readonly inputMax: () => number
  /** The most output tokens of all answers together. */
  readonly outputMax: number
  /** Our own count of the whole answer, for what the provider did not tell. */
  readonly count: () => UsageReport
}

export interface MeasuredTokens {
  /** What the customer is asked to pay for. */
  readonly report: UsageReport
  /** What the provider bills: all that it reported, and our count of what it did not. */
  readonly reported: UsageReport
  readonly flagged: boolean
  readonly basis: 'provider_usage' | 'counted'
}

/**
 * What an answer used. A provider bills what it reports, so that is its cost whatever it is; the customer's part is
 * bounded by what cannot be.
 */
export function measureUsage(report: UsageReport, limits: UsageLimits): MeasuredTokens {
  const reported = report.missing === undefined ? report : counted(report, limits)
  const billed = bounded(reported, limits)
  return {
    report: billed,
    reported,
    flagged: report.implausible || billed !== reported,
    basis: report.missing === undefined ? 'provider_usage' : 'counted',
  }
}

/** Usage that we counted ourselves, where the provider reported none (rules 7 and 9). */
export function countedReport(inputTokens: number, outputTokens: number): UsageReport {
  return reportOf({ input: inputTokens, output: outputTokens })
}

/** Our own count in the place of what is missing; several calls together are not below what some of them have told. */
function counted({ usage, missing = [] }: UsageReport, { count }: UsageLimits): UsageReport {
  const ours = count().usage
  const whole: Partial<Record<Meter, number>> = { ...usage }
  if (missing.includes('input')) fill(whole, ours, INPUT_METERS)
  if (missing.includes('output')) fill(whole, ours, OUTPUT_METERS)
  return reportOf(whole)
}

function fill(usage: Partial<Record<Meter, number>>, ours: Usage, meters: readonly [Meter, ...Meter[]]): void {
  const told = sum(usage, meters)
  if (told > 0) usage[meters[0]] = (usage[meters[0]] ?? 0) + Math.max(0, sum(ours, meters) - told)
  else for (const meter of meters) if (ours[meter] !== undefined) usage[meter] = ours[meter]
}

function bounded(report: UsageReport, { inputMax, outputMax }: UsageLimits): UsageReport {
  const { usage } = report
  const input = sum(usage, INPUT_METERS)
  const most = input <= INPUT_SLACK ? INPUT_SLACK : inputMax() + INPUT_SLACK
  const inputOk = input <= most
  const outputOk = sum(usage, OUTPUT_METERS) <= outputMax
  if (inputOk && outputOk) return report
  const billed: Partial<Record<Meter, number>> = { ...usage }
  if (!inputOk) clamp(billed, INPUT_METERS, most)
  if (!outputOk) clamp(billed, OUTPUT_METERS, outputMax)
  return reportOf(billed)
}

function sum(usage: Usage, meters: readonly Meter[]): number {
  return meters.reduce((total, meter) => total + (usage[meter] ?? 0), 0)
}

/** Brings the sum of `meters` to `max`, each in its share, so that a cached token stays as cheap as it was. */
function clamp(usage: Partial<Record<Meter, number>>, meters: readonly [Meter, ...Meter[]], max: number): void {
  // Each number alone is safe, their sum may not be.
  const total = meters.reduce((units, meter) => units + BigInt(usage[meter] ?? 0), 0n)
  let left = max
  for (const meter of meters) {
    const share = Number((BigInt(usage[meter] ?? 0) * BigInt(max)) / total)
    if (usage[meter] !== undefined) usage[meter] = share
    left -= share
  }
  usage[meters[0]] = (usage[meters[0]] ?? 0) + left
}

function reportOf(usage: Usage): UsageReport {
  return {
    usage,
    inputTokens: sum(usage, INPUT_METERS),
    outputTokens: sum(usage, OUTPUT_METERS),
    cachedTokens: usage.cache_read ?? 0,
    cacheWriteTokens: (usage.cache_write ?? 0) + (usage.cache_write_1h ?? 0),
    reasoningTokens: usage.reasoning ?? 0,
    implausible: false,
  }
}
