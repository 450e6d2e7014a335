import { ApiError } from '../errors.ts'
import type { HoldOutcome } from '../ledger/ledger-store.ts'
import { kopeckText, rubles, type Micro } from '../money.ts'

type LimitExceeded = Extract<HoldOutcome, { readonly status: 'limit_exceeded' }>

/** 429 `limit_exceeded` (wire.md D-9.3). `resetsAtMs` is the end of the period, null for a fixed limit. */
export function limitExceededError(outcome: LimitExceeded, requiredMicro: Micro, resetsAtMs: number | null): ApiError {
  const { limitMicro, limitReset, spentMicro, heldMicro } = outcome
  const resetsAt = resetsAtMs === null ? null : new Date(resetsAtMs).toISOString().replace('.000Z', 'Z')
  const limit = kopeckText(limitMicro, 'down')
  const spent = kopeckText(spentMicro, 'up')
  // Without it a refusal caused by requests still running would look like an arithmetic error.
  const held = heldMicro > 0n ? ` (${kopeckText(heldMicro, 'up')} RUB more is reserved by running requests)` : ''
  const reset = resetsAt === null ? '' : ` The limit resets at ${resetsAt}.`
  const message =
    `Key limit exceeded (${limitReset ?? 'total'} limit): spent ${spent} RUB of ${limit} RUB${held}, ` +
    `this request needs up to ${kopeckText(requiredMicro, 'up')} RUB.${reset}`
  const metadata = {
    limit: rubles(limitMicro),
    spent: rubles(spentMicro),
    ...(heldMicro > 0n ? { reserved: rubles(heldMicro) } : {}),
    required: rubles(requiredMicro),
    limit_reset: limitReset,
    resets_at: resetsAt,
  }
  return new ApiError('limit_exceeded', message, { metadata, noRetry: true })
}

/**
 * 402 `insufficient_balance` (wire.md D-10.4). `tokens`: fewer max_tokens would make the request cheaper; `reason`: why
 * so much is asked for.
 */
export function insufficientBalanceError(
  requiredMicro: Micro,
  availableMicro: Micro,
  remedy: { readonly tokens: boolean; readonly reason?: string | null },
): ApiError {
  const available = availableMicro < 0n ? 0n : availableMicro
  const advice = remedy.tokens
    ? 'Top up your balance, lower max_tokens or choose a cheaper model.'
    : 'Top up your balance or choose a cheaper model.'
  const reason = remedy.reason === null || remedy.reason === undefined ? '' : ` ${remedy.reason}`
  const message = `Insufficient balance: required ${kopeckText(requiredMicro, 'up')} RUB, available ${kopeckText(available, 'down')} RUB. ${advice}${reason}`
  return new ApiError('insufficient_balance', message, {
    metadata: { required: rubles(requiredMicro), available: rubles(available), currency: 'RUB' },
  })
}
