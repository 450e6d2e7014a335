/** A code that customers redeem for money. */
export interface Code {
  readonly id: string
  /** Its first four characters. */
  readonly label: string
  readonly amount: number
  /** How many accounts may use it, once each. */
  readonly uses_max: number
  readonly uses: number
  readonly expires_at: string | null
  readonly note: string | null
  readonly disabled: boolean
  readonly created_by: string
  readonly created_at: string
}

export interface CodeBody {
  readonly amount: number
  /** Codes to make, 1 to 1000, default 1. */
  readonly count?: number
  /** Default 1. */
  readonly uses_max?: number
  readonly expires_at?: string | null
  readonly note?: string | null
}

export interface PaymentRow {
  readonly id: string
  readonly account: string
  readonly method: string
  readonly amount: number
  readonly currency: string
  readonly state: 'pending' | 'paid' | 'cancelled'
  readonly payment_id: string | null
  /** What the provider has given back, and how much of that the account had spent by then: the operator's loss. */
  readonly refunded: number
  readonly refund_missing: number
  readonly created_at: string
  readonly paid_at: string | null
}
