import type { ApiError } from '../../base/errors.ts'
import type { Micro } from '../../base/money.ts'
import type { PaymentRecord } from '../../store/accounts/payment-store.ts'

export interface YookassaConfig {
  readonly shopId: string
  readonly secretKey: string
  /** Without a trailing slash. */
  readonly apiUrl: string
  /** The addresses from which its notifications come. */
  readonly networks: readonly string[]
}

/** The settings of each provider; null = it is not set up. */
export interface PaymentConfig {
  readonly yookassa: YookassaConfig | null
}

/** A payment as the provider reports it when asked by id. */
export interface ProviderPayment {
  readonly paymentId: string
  readonly state: 'pending' | 'succeeded' | 'cancelled'
  readonly amountMicro: Micro
  readonly currency: string
  /** Our id, which was sent with the payment; null when the provider has none. */
  readonly orderId: string | null
  readonly confirmationUrl: string | null
}

/** A refund as the provider reports it. */
export interface ProviderRefund {
  readonly refundId: string
  readonly paymentId: string
  readonly state: 'pending' | 'succeeded' | 'cancelled'
  readonly amountMicro: Micro
  readonly currency: string
}

/** The subject of a notification. */
export interface PaymentNotice {
  readonly of: 'payment' | 'refund'
  readonly id: string
}

/** A service that takes customers' money. Its notification proves nothing: it is only a reason to ask the service. */
export interface PaymentProvider {
  readonly id: 'yookassa'
  readonly name: string
  readonly leastMicro: Micro
  readonly mostMicro: Micro
  create(order: PaymentRecord, returnUrl: string): Promise<ProviderPayment>
  /** The error for a notification from an address that is not the provider's; null = it may be the provider's. */
  foreign(clientIp: string): ApiError | null
  /** null = no such payment. */
  find(paymentId: string, stop?: AbortSignal): Promise<ProviderPayment | null>
  /** null = no such refund. */
  findRefund(refundId: string): Promise<ProviderRefund | null>
  /** The subject of a notification; null = neither a payment nor a refund. */
  notified(body: unknown): PaymentNotice | null
}
