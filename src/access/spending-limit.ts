import { ApiError } from '../base/errors.ts'
import type { HoldOutcome } from '../ledger/ledger-store.ts'
import { kopeckText, rubles, type Micro } from '../base/money.ts'
import { isoSeconds } from '../base/time.ts'

type LimitExceeded = Extract<HoldOutcome, { readonly status: 'limit_exceeded' }>

/**
 * 429 `limit_exceeded` (wire.md D-9.3), of a key's limit or its account's. `resetsAtMs` is the end of the period, null
 * for a fixed limit.
 */
export function limitExceededError(outcome: LimitExceeded, requiredMicro: Micro, resetsAtMs: number | null): ApiError {
  const { limitMicro, limitReset, spentMicro, heldMicro, ofAccount = false } = outcome
  const resetsAt = isoSeconds(resetsAtMs)
  const limit = kopeckText(limitMicro, 'down')
  const spent = kopeckText(spentMicro, 'up')
  // Without this a refusal caused by running requests would look like an arithmetic error.
  const held = heldMicro > 0n ? ` (${kopeckText(heldMicro, 'up')} RUB more is reserved by running requests)` : ''
  const reset = resetsAt === null ? '' : ` The limit resets at ${resetsAt}.`
  const message =
    `${ofAccount ? 'Account' : 'Key'} limit exceeded (${limitReset ?? 'total'} limit): spent ${spent} RUB of ${limit} RUB${held}, ` +
    `this request needs up to ${kopeckText(requiredMicro, 'up')} RUB.${reset}`
  const metadata = {
    limit: rubles(limitMicro),
    spent: rubles(spentMicro),
    ...(heldMicro > 0n ? { reserved: rubles(heldMicro) } : {}),
    required: rubles(requiredMicro),
    limit_reset: limitReset,
    resets_at: resetsAt,
    ...(ofAccount ? { limit_of: 'account' } : {}),
  }
  return new ApiError('limit_exceeded', message, { metadata, noRetry: true })
}
