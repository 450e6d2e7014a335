import { ApiError } from '../errors.ts'
import type { HoldRow } from '../ledger/ledger-store.ts'
import { METERS, cacheSavedMicro, exactCost, type PriceSheet } from '../meters.ts'
import { decimalText, multiply, rubles, shift } from '../money.ts'
import type { GenerationRow } from '../ledger/generation-record.ts'
import type { BillLine, RequestStory } from './log-contract.ts'
import { logRow } from './log.ts'
import { viewOf } from '../ledger/row-view.ts'
import { iso, isoOrNull, type CabinetPorts, type Visit } from './ports.ts'

/** Everything about one request: endpoints tried, usage and prices, amounts held and charged, times. */
export async function requestStory(ports: CabinetPorts, { call, accountId }: Visit): Promise<RequestStory> {
  const id = (call.params['id'] ?? '').replace(/^resp-/, 'gen-')
  const row = await ports.store.generations.get(id)
  if (row === null || row.accountId !== accountId)
    throw new ApiError('generation_not_found', `Generation '${id.slice(0, 80)}' not found`)
  const both =
    row.endpointId === null
      ? null
      : await ports.catalog.priceOf(row.priceVersion, row.model, row.endpointId, row.variant ?? null)
  const prices = both === null ? null : row.billingBasis === 'provider_cost' ? both.buy : both.sell
  return {
    ...logRow(row),
    ...viewOf(row, 'request'),
    attempts: attemptsOf(row),
    attempt_count: row.attempts,
    bill: prices === null ? [] : billOf(row, prices),
    bill_total: prices === null ? null : decimalText(shift(exactCost(row.usage, prices), -6)),
    cache_saved: prices === null || row.billingBasis === 'free' ? null : rubles(cacheSavedMicro(row.usage, prices)),
    hold: holdOf(await ports.store.log.hold(row.generationId)),
    timings: {
      arrived_at: iso(row.createdAtMs),
      first_token_at: row.latencyMs === null ? null : iso(row.createdAtMs + row.latencyMs),
      ended_at: iso(row.createdAtMs + row.durationMs),
    },
  }
}

function attemptsOf(row: GenerationRow): RequestStory['attempts'] {
  const failed = (row.failedAttempts ?? []).map(({ provider, reason, status }) => ({
    provider,
    outcome: 'failed' as const,
    reason,
    status,
  }))
  if (row.attempts <= failed.length) return failed
  return [
    ...failed,
    {
      provider: row.providerName,
      outcome: row.status === 'error' ? 'failed' : 'answered',
      reason: row.errorType,
      status: null,
    },
  ]
}

/** A free request is shown with what it would have cost. */
function billOf(row: GenerationRow, prices: PriceSheet): readonly BillLine[] {
  return METERS.flatMap((meter) => {
    const units = row.usage[meter] ?? 0
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

function holdOf(hold: HoldRow | null): RequestStory['hold'] {
  if (hold === null) return null
  const charged = hold.chargedMicro ?? 0n
  const returned = hold.state === 'open' || charged > hold.amountMicro ? 0n : hold.amountMicro - charged
  return {
    amount: rubles(hold.amountMicro),
    state: hold.state,
    placed_at: iso(hold.placedAtMs),
    ended_at: isoOrNull(hold.endedAtMs),
    charged: rubles(charged),
    returned: rubles(returned),
    shortfall: rubles(hold.shortfallMicro ?? 0n),
  }
}
