import type { PaymentRecord } from '../../store/accounts/payment-store.ts'
import type { PaymentBooking } from './payment-booking.ts'
import { recordEvent } from '../records/ports.ts'
import type { CabinetPorts } from './ports.ts'
import { DAY_MS, MINUTE_MS } from '../../base/time.ts'
import { thrownMessage } from '../../base/text.ts'

const EVERY_MS = MINUTE_MS
/** The time between two looks at an order: a minute, doubled each time up to this. */
const WAIT_MOST_MS = 6 * 60 * MINUTE_MS
const ORDERS_AT_ONCE = 50
/** YooKassa cancels a payment long before; an order that it never received cannot be paid. */
const GIVE_UP_MS = 30 * DAY_MS
const NEVER_TAKEN_MS = DAY_MS

export interface PaymentWatchPorts extends Pick<CabinetPorts, 'store' | 'clock' | 'notice'> {
  /** false = another node asks. Two nodes that both ask book nothing twice. */
  readonly leads: () => boolean
}

/** Asks the provider about open orders, so that a lost notification loses no money. */
export class PaymentWatch {
  readonly #ports: PaymentWatchPorts
  readonly #booking: PaymentBooking
  readonly #stop = new AbortController()
  #cancel: () => void = () => undefined
  #running: Promise<void> | null = null

  constructor(ports: PaymentWatchPorts, booking: PaymentBooking) {
    this.#ports = ports
    this.#booking = booking
  }

  start(): void {
    if (this.#stop.signal.aborted) return
    this.#cancel = this.#ports.clock.after(EVERY_MS, () => {
      this.#running ??= this.#sweep().finally(() => {
        this.#running = null
      })
      this.start()
    })
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#cancel()
    await this.#running
  }

  /**
   * An order that cannot be looked up now is due again later, so that neither the provider nor the store is overloaded.
   */
  async #sweep(): Promise<void> {
    if (!this.#ports.leads()) return
    const { store, clock, notice } = this.#ports
    try {
      for (const order of await store.payments.due(clock.now(), ORDERS_AT_ONCE)) {
        if (this.#stop.signal.aborted) return
        await this.#look(order)
      }
    } catch (thrown) {
      if (!this.#stop.signal.aborted)
        notice(`Payments: the open orders could not be looked at: ${thrownMessage(thrown)}`)
    }
  }

  async #look(order: PaymentRecord): Promise<void> {
    const { store, clock } = this.#ports
    const nowMs = clock.now()
    const ageMs = nowMs - order.createdAtMs
    const waitMs = Math.min(WAIT_MOST_MS, MINUTE_MS * 2 ** Math.min(order.checks, 20))
    if (!(await store.payments.claim(order.id, order.checks, nowMs + waitMs))) return
    if (order.paymentId !== null) await this.#booking.payment(order.paymentId, null, this.#stop.signal)
    if (ageMs <= (order.paymentId === null ? NEVER_TAKEN_MS : GIVE_UP_MS)) return
    // It may still be paid at the provider: its notification then books it.
    if (await store.payments.cancel(order.id))
      await recordEvent(this.#ports, { actor: order.method, ip: null }, 'payment.given_up', order.id, {
        account: order.accountId,
      })
  }
}
