import type { Endpoint } from '../../catalog/catalog.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { METER_TABLE, type Meter } from '../../tables/meter-table.ts'
import {
  CACHE_WRITE_METERS,
  CACHED_METERS,
  INPUT_METERS,
  OUTPUT_METERS,
  REASONING_METERS,
  sumOf,
  type Usage,
} from '../../tables/meters.ts'

const SOUND_METERS = [...INPUT_METERS, ...OUTPUT_METERS].filter((meter) =>
  METER_TABLE[meter].types.some((type) => type === 'tts' || type === 'transcription'),
)

/** Tokens that a provider's own template may put around a text of any length. */
export const INPUT_SLACK = 1_000

export interface UsageLimits {
  /** The most tokens of the input without the provider's own template; called only if more are reported. */
  readonly inputMax: () => number
  /** The most output tokens of all answers together. */
  readonly outputMax: number
  /** Our own count of the whole answer, for figures that the provider did not report. */
  readonly count: () => UsageReport
}

export interface MeasuredTokens {
  /** The usage that the customer pays for. */
  readonly report: UsageReport
  /** The usage that the provider bills: everything it reported, and our count of the rest. */
  readonly reported: UsageReport
  readonly flagged: boolean
  readonly basis: 'provider_usage' | 'counted'
}

/**
 * The usage of an answer. A provider bills what it reports, so its report is our cost, however large. What the customer
 * pays for is limited to possible values.
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

/** Usage that we counted ourselves, because the provider reported none (rules 7 and 9). */
export function countedReport(inputTokens: number, outputTokens: number): UsageReport {
  return reportOf({ input: inputTokens, output: outputTokens })
}

/**
 * Replaces missing figures by our own count. If several calls are counted together, the result is never less than the
 * part that was reported.
 */
function counted({ usage, missing = [] }: UsageReport, { count }: UsageLimits): UsageReport {
  const ours = count().usage
  const whole: Partial<Record<Meter, number>> = { ...usage }
  if (missing.includes('input')) fill(whole, ours, INPUT_METERS)
  if (missing.includes('output')) fill(whole, ours, OUTPUT_METERS)
  return reportOf(whole)
}

function fill(usage: Partial<Record<Meter, number>>, ours: Usage, meters: readonly [Meter, ...Meter[]]): void {
  const told = sumOf(usage, meters)
  if (told > 0) usage[meters[0]] = (usage[meters[0]] ?? 0) + Math.max(0, sumOf(ours, meters) - told)
  else for (const meter of meters) if (ours[meter] !== undefined) usage[meter] = ours[meter]
}

function bounded(report: UsageReport, { inputMax, outputMax }: UsageLimits): UsageReport {
  const { usage } = report
  const input = sumOf(usage, INPUT_METERS)
  const most = input <= INPUT_SLACK ? INPUT_SLACK : inputMax() + INPUT_SLACK
  const inputOk = input <= most
  const outputOk = sumOf(usage, OUTPUT_METERS) <= outputMax
  if (inputOk && outputOk) return report
  const billed: Partial<Record<Meter, number>> = { ...usage }
  if (!inputOk) clamp(billed, INPUT_METERS, most)
  if (!outputOk) clamp(billed, OUTPUT_METERS, outputMax)
  return reportOf(billed)
}

/** Lowers the sum of `meters` to `max` in proportion, so that a cached token stays as cheap as it was. */
function clamp(usage: Partial<Record<Meter, number>>, meters: readonly [Meter, ...Meter[]], max: number): void {
  // Each number is a safe integer, but their sum may not be.
  const total = meters.reduce((units, meter) => units + BigInt(usage[meter] ?? 0), 0n)
  let left = max
  for (const meter of meters) {
    const share = Number((BigInt(usage[meter] ?? 0) * BigInt(max)) / total)
    if (usage[meter] !== undefined) usage[meter] = share
    left -= share
  }
  usage[meters[0]] = (usage[meters[0]] ?? 0) + left
}

/** The report of a usage, with the sums of its tokens. */
export function reportOf(usage: Usage): UsageReport {
  return {
    usage,
    inputTokens: sumOf(usage, INPUT_METERS),
    outputTokens: sumOf(usage, OUTPUT_METERS),
    cachedTokens: sumOf(usage, CACHED_METERS),
    cacheWriteTokens: sumOf(usage, CACHE_WRITE_METERS),
    reasoningTokens: sumOf(usage, REASONING_METERS),
    implausible: false,
  }
}

/** Usage in units, with tokens where they have a price. */
export function withUnits(units: Usage, tokens: UsageReport | null): UsageReport {
  return { ...(tokens ?? reportOf({})), usage: { ...tokens?.usage, ...units } }
}

/**
 * Whether tokens have a price at an endpoint, for the client or for us; otherwise it is sold by time or characters, and
 * the log shows no tokens.
 */
export function countsTokens({ sell, buy }: Endpoint): boolean {
  return SOUND_METERS.some((meter) => sell[meter].digits > 0n || buy[meter].digits > 0n)
}
