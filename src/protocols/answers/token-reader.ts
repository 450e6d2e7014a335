import type { UsageReport, UsageSide } from '../../kinds/chat/answer.ts'
import type { Meter } from '../../tables/meter-table.ts'
import { INPUT_METERS, OUTPUT_METERS, type Usage } from '../../tables/meters.ts'
import type { RawJson } from '../wire/raw-json.ts'

/** More characters than any number that a provider writes as text. */
const TEXT_CHARS_MAX = 40
const DIGITS = /^\d{1,40}(?:\.\d{0,40})?$/

/**
 * Reads a number of reported usage, which may also be a text; null = it is no number of at least 0. Every adapter uses
 * this.
 */
export function amountOf(value: unknown): number | null {
  const amount =
    typeof value === 'string' && value.length <= TEXT_CHARS_MAX && DIGITS.test(value) ? Number(value) : value
  return typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 ? amount : null
}

/** A whole number of units, rounded up as providers bill; null = no number, or one beyond 2⁵³. */
export function countOf(value: unknown): number | null {
  const amount = amountOf(value)
  // A negative zero counts as 0.
  const count = amount === null ? null : Math.ceil(amount) + 0
  return count === null || !Number.isSafeInteger(count) ? null : count
}

/** The counts that were read; absent ones are 0. */
type ReadCounts = Pick<UsageReport, 'usage' | 'inputTokens' | 'outputTokens'> &
  Partial<Pick<UsageReport, 'cachedTokens' | 'cacheWriteTokens' | 'reasoningTokens'>>

/**
 * Reads the numbers of a usage object. A missing or unreadable number never becomes 0: we count that side of the report
 * instead.
 */
export class TokenReader {
  readonly #missing = new Set<UsageSide>()
  #unreadable = false

  /** Whether a value was present but is no count. */
  get implausible(): boolean {
    return this.#unreadable
  }

  /** The number of the first name that is present; null = none is, or its value is no count. */
  maybe(object: RawJson | null, ...names: readonly string[]): number | null {
    for (const name of names) {
      const value = object?.[name]
      if (value === undefined || value === null) continue
      const count = countOf(value)
      if (count === null) this.#unreadable = true
      return count
    }
    return null
  }

  /** The number by which a side is billed. */
  count(side: UsageSide, object: RawJson | null, ...names: readonly string[]): number {
    const count = this.maybe(object, ...names)
    if (count === null) this.#missing.add(side)
    return count ?? 0
  }

  /** A number that is added to its side; it may be absent if it is zero. */
  added(side: UsageSide, object: RawJson | null, ...names: readonly string[]): number {
    const before = this.#unreadable
    this.#unreadable = false
    const count = this.maybe(object, ...names)
    if (this.#unreadable) this.#missing.add(side)
    this.#unreadable ||= before
    return count ?? 0
  }

  /** A part of another number: if it is unreadable, the whole number is billed as the plain rest. */
  part(object: RawJson | null, ...names: readonly string[]): number {
    return this.maybe(object, ...names) ?? 0
  }

  /** The report, without the meters of a missing side. */
  report(counts: ReadCounts): UsageReport {
    const read = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, ...counts }
    for (const [side, tokens] of [
      ['input', read.inputTokens],
      ['output', read.outputTokens],
    ] as const) {
      if (Number.isSafeInteger(tokens)) continue
      this.#missing.add(side)
      this.#unreadable = true
    }
    if (this.#missing.size === 0) return { ...read, implausible: this.#unreadable }
    const noInput = this.#missing.has('input')
    const noOutput = this.#missing.has('output')
    return {
      usage: without(read.usage, [...(noInput ? INPUT_METERS : []), ...(noOutput ? OUTPUT_METERS : [])]),
      inputTokens: noInput ? 0 : read.inputTokens,
      outputTokens: noOutput ? 0 : read.outputTokens,
      cachedTokens: noInput ? 0 : read.cachedTokens,
      cacheWriteTokens: noInput ? 0 : read.cacheWriteTokens,
      reasoningTokens: noOutput ? 0 : read.reasoningTokens,
      implausible: this.#unreadable,
      missing: [...this.#missing],
    }
  }
}

/** The meters with a count above 0. */
export function above0(usage: Usage): Usage {
  return Object.fromEntries(Object.entries(usage).filter(([, units]) => units > 0))
}

function without(usage: Usage, meters: readonly Meter[]): Usage {
  // Object.entries widens the keys of a Usage, which are meters, to string.
  return Object.fromEntries(Object.entries(usage).filter(([meter]) => !meters.includes(meter as Meter)))
}
