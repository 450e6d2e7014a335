import { METERS, cacheSavedMicro, exactCost, type PriceSheet, type Usage } from '../meters.ts'
import { decimalText, multiply, rubles, shift } from '../money.ts'
import type { GenerationRow } from './generation-record.ts'
import type { HoldRow } from './ledger-store.ts'
import type { BillLine, StoryAttempt, StoryParts } from './request-story-contract.ts'
import { isoTime } from '../lib/time.ts'

/** The prices of an endpoint: its provider's, and those of customers. */
export interface StoryPrices {
  readonly buy: PriceSheet
  readonly sell: PriceSheet
}

/** A request's bill, hold and times, from its row of the log. null prices = their version is gone. */
export function storyOf(row: GenerationRow, both: StoryPrices | null, hold: HoldRow | null): StoryParts {
  const prices = both === null ? null : row.billingBasis === 'provider_cost' ? both.buy : both.sell
  return {
    bill: prices === null ? [] : billOf(row.usage, prices),
    bill_total: prices === null ? null : totalOf(row.usage, prices),
    cache_saved: prices === null || row.billingBasis === 'free' ? null : rubles(cacheSavedMicro(row.usage, prices)),
    hold: holdOf(hold),
    timings: {
      arrived_at: isoTime(row.createdAtMs),
      first_token_at: row.latencyMs === null ? null : isoTime(row.createdAtMs + row.latencyMs),
      ended_at: isoTime(row.createdAtMs + row.durationMs),
    },
  }
}

/** Every attempt in order, with the words of its provider, which only the operator may see. */
export function attemptsOf(row: GenerationRow): readonly (StoryAttempt & { readonly said: string | null })[] {
  const failed = (row.failedAttempts ?? []).map(({ provider, reason, status, said }) => ({
    provider,
    outcome: 'failed' as const,
    reason,
    status,
    said: said ?? null,
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
    },
  ]
}

/** The lines of a bill. A free request has those that it would have cost. */
export function billOf(usage: Usage, prices: PriceSheet): readonly BillLine[] {
  return METERS.flatMap((meter) => {
    const units = usage[meter] ?? 0
    if (units === 0) return []
    return [
      {
        meter,
        units,
        price: decimalText(shift(prices[meter], -6)),
        cost: decimalText(shift(multiply({ digits: BigInt(units), scale: 0 }, prices[meter]), -6)),
      },
    ]
  })
}

/** The exact sum of a bill, RUB. */
export function totalOf(usage: Usage, prices: PriceSheet): string {
  return decimalText(shift(exactCost(usage, prices), -6))
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
