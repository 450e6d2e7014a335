import { ApiError } from '../base/errors.ts'
import { kopeckText, rubles, type Micro } from '../base/money.ts'

/** The remedy, and the reason for the large amount. */
interface Remedy {
  /** Fewer max_tokens would make the request cheaper. */
  readonly tokens: boolean
  readonly reason?: string | null
}

/**
 * The 402 of wire.md D-10.4, of the plan and of the ledger. It keeps the exact amount, so that the relay can name the
 * key's limit where that is the bound.
 */
export class InsufficientBalanceError extends ApiError {
  readonly requiredMicro: Micro
  readonly availableMicro: Micro

  constructor(requiredMicro: Micro, availableMicro: Micro, { tokens, reason = null }: Remedy) {
    const bounded = availableMicro < 0n ? 0n : availableMicro
    const remedies = tokens
      ? 'Top up your balance, lower max_tokens or choose a cheaper model.'
      : 'Top up your balance or choose a cheaper model.'
    const message = `Insufficient balance: required ${kopeckText(requiredMicro, 'up')} RUB, available ${kopeckText(bounded, 'down')} RUB. ${remedies}${reason === null ? '' : ` ${reason}`}`
    super('insufficient_balance', message, {
      metadata: { required: rubles(requiredMicro), available: rubles(bounded), currency: 'RUB' },
    })
    this.requiredMicro = requiredMicro
    this.availableMicro = bounded
  }
}
