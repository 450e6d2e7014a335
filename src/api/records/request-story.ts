import { METERS, cacheSavedMicro, exactCost, type PriceSheet, type Usage } from '../../tables/meters.ts'
import {
  add,
  ceilMicro,
  decimalText,
  multiply,
  rubles,
  shift,
  ZERO,
  type Decimal,
  type Micro,
} from '../../base/money.ts'
import type { GenerationRow } from '../../ledger/generation-record.ts'
import type { HoldRow } from '../../ledger/ledger-store.ts'
import type { EntryRecord } from '../../store/ledger/entry-store.ts'
import type { BillAdjustment, BillLine, StoryAttempt, StoryParts } from './request-story-contract.ts'
import { isoTime } from '../../base/time.ts'

/** The prices by which the row was charged. */
export interface StoryPrices {
  readonly charged: { readonly sheet: PriceSheet }
}

/** A request's bill, hold and times, from its row of the log. null prices = their version is gone. */
export function storyOf(
  row: GenerationRow,
  by: StoryPrices | null,
  { hold, credit }: { readonly hold: HoldRow | null; readonly credit: EntryRecord | null },
): StoryParts {
  const prices = by?.charged.sheet ?? null
  return {
    ...customerBill(row, prices),
    cache_saved: prices === null || row.billingBasis === 'free' ? null : rubles(cacheSavedMicro(row.usage, prices)),
    credit:
      credit === null
        ? null
        : { amount: rubles(credit.amountMicro), at: isoTime(credit.createdAtMs), reason: credit.reason },
    hold: holdOf(hold),
    timings: {
      arrived_at: isoTime(row.createdAtMs),
      first_token_at: row.latencyMs === null ? null : isoTime(row.createdAtMs + row.latencyMs),
      ended_at: isoTime(row.createdAtMs + row.durationMs),
    },
  }
}

function customerBill(
  row: GenerationRow,
  prices: PriceSheet | null,
): Pick<StoryParts, 'bill' | 'bill_total' | 'bill_adjustments'> {
  const { lines, total, adjustments } = invoiceOf(row.usage, prices, {
    bookedMicro: row.costMicro,
    notCoveredMicro: row.shortfallMicro,
    insuredMicro: 0n,
  })
  return { bill: lines, bill_total: total, bill_adjustments: adjustments }
}

/** What became of the sum of a bill. */
export interface BookedBill {
  /** The amount that was charged, or as which the provider's bill was booked. */
  readonly bookedMicro: Micro
  /** The part of the cost that neither hold nor balance covered. */
  readonly notCoveredMicro: Micro
  /** What the operator bears instead of a customer. */
  readonly insuredMicro: Micro
}

export interface Invoice {
  readonly lines: readonly BillLine[]
  /** The exact sum of the lines, RUB; null = the prices are gone. */
  readonly total: string | null
  /** The adjustments and the sum add up to the booked amount, to the last digit. */
  readonly adjustments: readonly BillAdjustment[]
}

export function invoiceOf(usage: Usage, prices: PriceSheet | null, booked: BookedBill): Invoice {
  if (prices === null) return { lines: [], total: null, adjustments: [] }
  const sum = exactCost(usage, prices)
  return { lines: billOf(usage, prices), total: rub(sum), adjustments: adjustmentsOf(sum, booked) }
}

function adjustmentsOf(sum: Decimal, { bookedMicro, notCoveredMicro, insuredMicro }: BookedBill): BillAdjustment[] {
  const cost = bookedMicro + notCoveredMicro
  const whole = ceilMicro(sum)
  const isRounded = cost === whole || insuredMicro > 0n
  const lines: readonly (readonly [BillAdjustment['reason'], Decimal])[] = [
    ['rounding', isRounded ? minus(micro(whole), sum) : ZERO],
    ['insured', isRounded ? micro(cost - whole) : ZERO],
    ['not_charged', isRounded ? ZERO : minus(micro(cost), sum)],
    ['not_covered', micro(-notCoveredMicro)],
  ]
  return lines.filter(([, { digits }]) => digits !== 0n).map(([reason, amount]) => ({ reason, amount: rub(amount) }))
}

function micro(digits: Micro): Decimal {
  return { digits, scale: 0 }
}

function minus(left: Decimal, { digits, scale }: Decimal): Decimal {
  return add(left, { digits: -digits, scale })
}

/** Every attempt in order, with the words of its provider; `isTold`: the customer may see them too. */
export function attemptsOf(
  row: GenerationRow,
): readonly (StoryAttempt & { readonly said: string | null; readonly isTold: boolean })[] {
  const failed = (row.failedAttempts ?? []).map(({ provider, reason, status, said, told = false }) => ({
    provider,
    outcome: 'failed' as const,
    reason,
    status,
    said: said ?? null,
    isTold: told,
  }))
  if (row.attempts <= failed.length) return failed
  return [
    ...failed,
    {
      provider: row.providerName,
      outcome: row.status === 'error' ? 'failed' : 'answered',
      reason: row.errorType,
      status: null,
      said: null,
      isTold: false,
    },
  ]
}

/** The lines of a bill. A free request has the lines that it would have cost. */
function billOf(usage: Usage, prices: PriceSheet): readonly BillLine[] {
  return METERS.flatMap((meter) => {
    const units = usage[meter] ?? 0
    if (units === 0) return []
    return [
      {
        meter,
        units,
        price: rub(prices[meter]),
        cost: rub(multiply({ digits: BigInt(units), scale: 0 }, prices[meter])),
      },
    ]
  })
}

/** µRUB as RUB, with every digit. */
function rub(micro: Decimal): string {
  return decimalText(shift(micro, -6))
}

/** Output tokens per second of a stream; null unless the time of the first token is known. */
export function tokensPerSecond({ streamed, latencyMs, durationMs, outputTokens }: GenerationRow): number | null {
  if (!streamed || latencyMs === null || outputTokens < 2 || durationMs <= latencyMs) return null
  return Math.round(((outputTokens - 1) / (durationMs - latencyMs)) * 10_000) / 10
}

function holdOf(hold: HoldRow | null): StoryParts['hold'] {
  if (hold === null) return null
  const charged = hold.chargedMicro ?? 0n
  const returned = hold.state === 'open' || charged > hold.amountMicro ? 0n : hold.amountMicro - charged
  return {
    amount: rubles(hold.amountMicro),
    state: hold.state,
    placed_at: isoTime(hold.placedAtMs),
    ended_at: isoTime(hold.endedAtMs),
    charged: rubles(charged),
    returned: rubles(returned),
    shortfall: rubles(hold.shortfallMicro ?? 0n),
  }
}
