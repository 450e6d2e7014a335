import type { UsageReport } from '../kinds/chat-answer.ts'
import type { Meter, Usage } from '../meters.ts'

const INPUT_METERS = ['input', 'cache_read', 'cache_write', 'cache_write_1h', 'audio_input'] as const satisfies readonly Meter[]
const OUTPUT_METERS = ['output', 'reasoning', 'audio_output'] as const satisfies readonly Meter[]
const INPUT_SLACK = 1_000
const OUTPUT_SLACK = 16

export interface UsageLimits {
  /** Most output tokens of all answers together: max_tokens × n. */
  readonly maxTokens: number
  /** Answers asked for; each has the slack of its own. */
  readonly n?: number
  /** Tokenises the input; asked only where nothing cheaper decides. */
  readonly countInput: () => number
  /** A cheap number that the count is not below. */
  readonly countAtLeast?: () => number
}

/** Clamps usage that no honest answer has (reliability.md 3.5 rule 10); `flagged` marks that something was clamped. */
export function boundUsage(report: UsageReport, limits: UsageLimits): { readonly report: UsageReport; readonly flagged: boolean } {
  const outputMax = Math.floor((limits.maxTokens * 11) / 10) + OUTPUT_SLACK * (limits.n ?? 1)
  const inputOk = allPlain(report.usage, INPUT_METERS) && inputPlausible(tokensOf(report, INPUT_METERS, report.inputTokens), limits)
  const outputOk = allPlain(report.usage, OUTPUT_METERS) && tokensOf(report, OUTPUT_METERS, report.outputTokens) <= outputMax
  if (inputOk && outputOk && !report.implausible && othersPlain(report.usage)) return { report, flagged: false }
  const usage: Partial<Record<Meter, number>> = {}
  for (const [meter, units] of Object.entries(report.usage)) {
    // Object.entries widens the keys of a Usage, which are meters, to string.
    if (isPlain(units)) usage[meter as Meter] = units
  }
  if (!inputOk || report.implausible) clamp(usage, report.usage, INPUT_METERS, inputMax(limits.countInput()))
  if (!outputOk || report.implausible) clamp(usage, report.usage, OUTPUT_METERS, outputMax)
  return { report: reportOf(usage), flagged: true }
}

/** Usage that we counted ourselves, where the provider reported none (rules 7 and 9). */
export function countedReport(inputTokens: number, outputTokens: number): UsageReport {
  return reportOf({ input: inputTokens, output: outputTokens })
}

function inputMax(count: number): number {
  return Math.floor((count * 3) / 2) + INPUT_SLACK
}

function inputPlausible(inputTokens: number, { countInput, countAtLeast }: UsageLimits): boolean {
  if (inputTokens <= INPUT_SLACK) return true
  if (countAtLeast !== undefined && inputTokens <= inputMax(countAtLeast())) return true
  return inputTokens <= inputMax(countInput())
}

/** The larger of the sum of the meters and of what the report itself says: neither may pass the bound. */
function tokensOf({ usage }: UsageReport, meters: readonly Meter[], reported: number): number {
  return Math.max(sum(usage, meters), reported)
}

function sum(usage: Usage, meters: readonly Meter[]): number {
  return meters.reduce((total, meter) => total + (usage[meter] ?? 0), 0)
}

function isPlain(units: number | undefined): boolean {
  return units === undefined || (Number.isSafeInteger(units) && units >= 0)
}

function allPlain(usage: Usage, meters: readonly Meter[]): boolean {
  return meters.every((meter) => isPlain(usage[meter]))
}

function othersPlain(usage: Usage): boolean {
  return Object.values(usage).every(isPlain)
}

/** Brings the sum of `meters` to at most `max`, each in its share, so that a cached token stays as cheap as it was. */
function clamp(usage: Partial<Record<Meter, number>>, reported: Usage, meters: readonly [Meter, ...Meter[]], max: number): void {
  for (const meter of meters) {
    const units = reported[meter]
    if (units !== undefined) usage[meter] = bounded(units, max)
  }
  // Each number alone is safe, their sum may not be.
  const total = meters.reduce((units, meter) => units + BigInt(usage[meter] ?? 0), 0n)
  if (total <= BigInt(max)) return
  let left = max
  for (const meter of meters) {
    const share = Number((BigInt(usage[meter] ?? 0) * BigInt(max)) / total)
    if (usage[meter] !== undefined) usage[meter] = share
    left -= share
  }
  usage[meters[0]] = (usage[meters[0]] ?? 0) + left
}

/** One number of a provider as a whole number of at least 0; what is no safe integer even when rounded up counts as `max`. */
function bounded(units: number, max: number): number {
  const whole = Math.max(Math.ceil(units), 0)
  return Number.isSafeInteger(whole) ? whole : max
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
