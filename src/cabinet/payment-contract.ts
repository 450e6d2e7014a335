export interface PaymentMethod {
  readonly id: 'yookassa'
  readonly name: string
  readonly least: number
  readonly most: number
}

export interface Payment {
  readonly id: string
  readonly method: 'yookassa'
  readonly amount: number
  readonly currency: 'RUB'
  /** `paid`: the balance has it. */
  readonly state: 'pending' | 'paid' | 'cancelled'
  /** Where the customer pays; null once it is over. */
  readonly confirmation_url: string | null
  readonly created_at: string
  readonly paid_at: string | null
  /** What the provider has given back. */
  readonly refunded: number
}
