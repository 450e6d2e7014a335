import type { ApiError } from '../errors.ts'
import type { Micro } from '../money.ts'
import type { PaymentRecord } from '../store/accounts/payment-store.ts'

/** What a provider says of one of its payments, asked by its id. */
export interface ProviderPayment {
  readonly paymentId: string
  readonly state: 'pending' | 'succeeded' | 'cancelled'
  readonly amountMicro: Micro
  readonly currency: string
  /** Ours, as it was given with the payment; null when it has none. */
  readonly orderId: string | null
  readonly confirmationUrl: string | null
}

/** What a provider says of money that it gave back. */
export interface ProviderRefund {
  readonly refundId: string
  readonly paymentId: string
  readonly state: 'pending' | 'succeeded' | 'cancelled'
  readonly amountMicro: Micro
  readonly currency: string
}

/** What a notification is about. */
export interface PaymentNotice {
  readonly of: 'payment' | 'refund'
  readonly id: string
}

/** Whoever takes the customers' money. What it says by itself (a notification) is only a reason to ask it. */
export interface PaymentProvider {
  readonly id: 'yookassa'
  readonly name: string
  readonly leastMicro: Micro
  readonly mostMicro: Micro
  create(order: PaymentRecord, returnUrl: string): Promise<ProviderPayment>
  /** Why a notification cannot be the provider's, by where it comes from; null = it may be. */
  foreign(clientIp: string): ApiError | null
  /** null = it knows no such payment. */
  find(paymentId: string, stop?: AbortSignal): Promise<ProviderPayment | null>
  /** null = it knows no such refund. */
  findRefund(refundId: string): Promise<ProviderRefund | null>
  /** What a notification is about; null = neither a payment nor a refund. */
  notified(body: unknown): PaymentNotice | null
}
