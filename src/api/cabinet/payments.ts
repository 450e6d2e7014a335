import type { Principal } from '../../access/principal.ts'
import type { ApiError } from '../../base/errors.ts'
import { type Micro, microOf, rubles } from '../../base/money.ts'
import { fieldError } from '../../base/refusals.ts'
import { thrownMessage } from '../../base/text.ts'
import { DAY_MS, MINUTE_MS } from '../../base/time.ts'
import { wire } from '../../base/wire-route.ts'
import type { Reply, Route } from '../../http/edge.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import { isObject } from '../../kinds/fields/body-fields.ts'
import type { Judged } from '../../kinds/fields/strict-body.ts'
import type { EventAction } from '../../ledger/event-action.ts'
import { serviceLowBalance } from '../../ledger/notice.ts'
import type { PaymentRecord } from '../../store/accounts/payment-store.ts'
import { notFound, recordEvent } from '../records/ports.ts'
import { Payment, type PaymentBody, type PaymentMethod } from './money-contract.ts'
import { type CabinetPorts, type Visit, listVisit, visitRoute } from './ports.ts'

type BookingPorts = Pick<CabinetPorts, 'store' | 'clock' | 'notice' | 'freed' | 'catalog'>

const EVENT_NAME_MAX = 60

/** `unknown`: no order of ours has this payment; `different`: the payment differs from the order. */
export type Booked = 'booked' | 'nothing_new' | 'unknown' | 'different'

/**
 * Books payments and refunds: asks the provider for one by its id, compares it with our order, and books it once,
 * however often it is announced.
 */
export class PaymentBooking {
  readonly #ports: BookingPorts
  readonly #provider: PaymentProvider

  constructor(ports: BookingPorts, provider: PaymentProvider) {
    this.#ports = ports
    this.#provider = provider
  }

  /** `ip`: the sender of the notification; null = we asked on our own. */
  async payment(paymentId: string, ip: string | null, stop?: AbortSignal): Promise<Booked> {
    const payment = await this.#provider.find(paymentId, stop)
    const { store, clock } = this.#ports
    const found =
      payment?.orderId === undefined || payment.orderId === null ? null : await store.payments.get(payment.orderId)
    if (payment === null || found === null || found.method !== this.#provider.id)
      return this.#unknown('payment', paymentId, ip)
    const difference = differenceOf(found, payment)
    if (difference !== null) return this.#different(found, `payment ${paymentId}`, difference, ip)
    if (payment.state === 'cancelled') await store.payments.cancel(found.id)
    if (payment.state !== 'succeeded') return 'nothing_new'
    // A crash between the provider's answer and our record of it can leave an order without a payment id.
    if (found.paymentId === null) await store.payments.begin(found.id, paymentId, null)
    if (!(await store.payments.pay({ id: found.id, paymentId, atMs: clock.now() }))) return 'nothing_new'
    await recordEvent(this.#ports, { actor: this.#provider.id, ip }, 'payment.paid', found.id, {
      account: found.accountId,
      amount: rubles(found.amountMicro),
      payment: paymentId,
    })
    return 'booked'
  }

  async refund(refundId: string, ip: string | null): Promise<Booked> {
    const refund = await this.#provider.findRefund(refundId)
    if (refund === null) return this.#unknown('refund', refundId, ip)
    // A refund needs its payment to be booked, whose notification may be lost or late.
    const paid = await this.payment(refund.paymentId, ip)
    const found =
      paid === 'unknown' ? null : await this.#ports.store.payments.findByPayment(this.#provider.id, refund.paymentId)
    if (found === null) return this.#unknown('refund', refundId, ip)
    if (refund.state !== 'succeeded') return 'nothing_new'
    return this.#bookRefund(found, refund, ip)
  }

  /** Records a notification that is neither about a payment nor about a refund. */
  async strange(body: unknown, ip: string | null): Promise<Booked> {
    const event = isObject(body) && typeof body['event'] === 'string' ? body['event'] : 'none'
    await this.#once('notification.unknown', event.slice(0, EVENT_NAME_MAX), ip, { provider: this.#provider.id })
    return 'unknown'
  }

  async #bookRefund(found: PaymentRecord, refund: ProviderRefund, ip: string | null): Promise<Booked> {
    const { store, clock, catalog } = this.#ports
    if (refund.currency !== found.currency)
      return this.#different(found, `refund ${refund.refundId}`, 'another currency', ip)
    await this.#ports.freed(found.accountId, refund.amountMicro)
    const outcome = await store.payments.refund({
      orderId: found.id,
      refundId: refund.refundId,
      amountMicro: refund.amountMicro,
      atMs: clock.now(),
      lowBalanceMicro: serviceLowBalance(catalog.current().settings),
    })
    if (outcome.status === 'known') return 'nothing_new'
    if (outcome.status === 'refused') return this.#different(found, `refund ${refund.refundId}`, outcome.why, ip)
    const { bookedMicro } = outcome
    const missing = refund.amountMicro - bookedMicro
    const told = {
      account: found.accountId,
      order: found.id,
      amount: rubles(refund.amountMicro),
      booked: rubles(bookedMicro),
      missing: rubles(missing),
      refund: refund.refundId,
    }
    await recordEvent(
      this.#ports,
      { actor: this.#provider.id, ip },
      missing > 0n ? 'payment.refund_short' : 'payment.refund',
      found.id,
      told,
    )
    if (missing > 0n)
      this.#ports.notice(
        `Refund ${refund.refundId} of ${told.amount} RUB: account ${found.accountId} had only ${told.booked} RUB left, ${told.missing} RUB are missing`,
      )
    return 'booked'
  }

  /** Recorded once for each id: a repeated notification adds nothing. */
  async #unknown(what: 'payment' | 'refund', id: string, ip: string | null): Promise<Booked> {
    await this.#once(`${what}.unknown`, id, ip, { provider: this.#provider.id })
    return 'unknown'
  }

  async #different(found: PaymentRecord, what: string, difference: string, ip: string | null): Promise<Booked> {
    if (await this.#once('payment.different', found.id, ip, { account: found.accountId, what, difference })) {
      this.#ports.notice(`${what} is not what was ordered (${difference}): nothing was booked for ${found.id}`)
    }
    return 'different'
  }

  async #once(
    action: EventAction,
    object: string,
    ip: string | null,
    after: Readonly<Record<string, unknown>>,
  ): Promise<boolean> {
    const before = await this.#ports.store.events.list({ limit: 1, offset: 0 }, { action, object })
    if (before.total > 0) return false
    await recordEvent(this.#ports, { actor: this.#provider.id, ip }, action, object, after)
    return true
  }
}

function differenceOf(ordered: PaymentRecord, payment: ProviderPayment): string | null {
  if (ordered.paymentId !== null && ordered.paymentId !== payment.paymentId) return 'another payment'
  if (ordered.amountMicro !== payment.amountMicro) return 'another amount'
  return ordered.currency === payment.currency ? null : 'another currency'
}

const EVERY_MS = MINUTE_MS
/** The most time between two questions about an order; it begins with a minute and is doubled each time. */
const WAIT_MOST_MS = 6 * 60 * MINUTE_MS
const ORDERS_AT_ONCE = 50
/** YooKassa cancels an unpaid payment long before this, and an order that it never received cannot be paid. */
const GIVE_UP_MS = 30 * DAY_MS
const NEVER_TAKEN_MS = DAY_MS

export interface PaymentWatchPorts extends Pick<CabinetPorts, 'store' | 'clock' | 'notice'> {
  /** Whether this node is the leader. Two nodes that both ask book nothing twice. */
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
   * An order whose payment cannot be asked for now is due again later, so that neither the provider nor the store is
   * overloaded.
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

const ID_LETTERS = 16
const KOPECK_MICRO = 10_000n

/** A configured payment provider. */
export interface Payments {
  readonly provider: PaymentProvider
  readonly booking: PaymentBooking
}

/** Top-ups with real money. The notification route exists only with a configured provider. */
export function paymentRoutes(ports: CabinetPorts, payments: Payments | null): readonly Route<Principal>[] {
  const provider = payments?.provider ?? null
  const methods: readonly PaymentMethod[] =
    provider === null
      ? []
      : [{ id: provider.id, name: provider.name, least: rubles(provider.leastMicro), most: rubles(provider.mostMicro) }]
  return [
    listVisit(ports, 'GET /cabinet/v1/payments', async ({ accountId }, { limit, cursor }) => {
      const { data, next = null } = await ports.store.payments.list({
        accountId,
        limit,
        offset: 0,
        cursor,
        uncounted: true,
      })
      return { methods, data: data.map(wirePayment), next_cursor: next }
    }),
    visitRoute(ports, 'POST /cabinet/v1/payments', (visit, read) => order(ports, provider, visit, read('amount'))),
    visitRoute(ports, 'GET /cabinet/v1/payments/:id', async (visit) => wirePayment(await ownOrder(ports, visit))),
    visitRoute(ports, 'POST /cabinet/v1/payments/:id/check', async (visit) => {
      const found = await ownOrder(ports, visit)
      if (payments !== null && found.state === 'pending' && found.paymentId !== null) {
        await ports.access.bounds.take('looks', found.id)
        await payments.booking.payment(found.paymentId, visit.call.clientIp)
      }
      return wirePayment(await ownOrder(ports, visit))
    }),
    ...(payments === null ? [] : [notificationRoute(ports, payments)]),
  ]
}

function notificationRoute(ports: CabinetPorts, { provider, booking }: Payments): Route<Principal> {
  return {
    method: 'POST',
    path: `/cabinet/v1/payments/notifications/${provider.id}`,
    plane: 'open',
    body: 'json',
    refuse: (_request, clientIp) => provider.foreign(clientIp),
    handle: async (call): Promise<Reply> => {
      const notice = provider.notified(call.json)
      // A notification about an unknown order is recorded and still answered with success: otherwise the provider would
      // repeat it for a day.
      await takeNotificationTurns(ports, provider, notice)
      const booked = await (notice === null
        ? booking.strange(call.json, call.clientIp)
        : booking[notice.of](notice.id, call.clientIp))
      return { status: 200, body: { received: true, known: booked !== 'unknown' } }
    },
  }
}

/** A notification makes us ask the provider. For an order we ask as often as its customer may; without one, seldom. */
async function takeNotificationTurns(
  { access: { bounds }, store }: CabinetPorts,
  { id: method }: PaymentProvider,
  notice: PaymentNotice | null,
): Promise<void> {
  await bounds.take('notifications', method)
  const named = notice?.of === 'payment' ? await store.payments.findByPayment(method, notice.id) : null
  await (named === null ? bounds.take('strange_notifications', method) : bounds.take('looks', named.id))
}

export function wirePayment(payment: PaymentRecord): Payment {
  return wire(Payment, payment, {
    method: 'yookassa',
    currency: 'RUB',
    confirmation_url: payment.state === 'pending' ? payment.confirmationUrl : null,
  })
}

async function ownOrder({ store }: CabinetPorts, { call, accountId }: Visit): Promise<PaymentRecord> {
  const id = call.params['id'] ?? ''
  const found = await store.payments.get(id)
  if (found === null || found.accountId !== accountId) throw notFound('Payment', id)
  return found
}

async function order(
  ports: CabinetPorts,
  provider: PaymentProvider | null,
  { call, accountId, user }: Visit,
  { method, amount }: Judged<PaymentBody, 'amount'>,
): Promise<Payment> {
  const amountMicro = microOf(amount ?? 0)
  if (provider === null || method !== provider.id)
    throw fieldError('method', 'not_set_up', { given: method }, `'${method}' is not set up here`)
  if (amountMicro < provider.leastMicro || amountMicro > provider.mostMicro || amountMicro % KOPECK_MICRO !== 0n) {
    throw fieldError('amount', 'kopecks', { least: rubles(provider.leastMicro), most: rubles(provider.mostMicro) })
  }
  await ports.access.bounds.take('orders', accountId)
  const id = `pay_${ports.ids.letters(ID_LETTERS)}`
  const made = { id, accountId, method, amountMicro, currency: 'RUB', createdAtMs: ports.clock.now() }
  await ports.store.payments.create(made)
  const blank: PaymentRecord = {
    ...made,
    state: 'pending',
    paymentId: null,
    confirmationUrl: null,
    paidAtMs: null,
    checks: 0,
    refundedMicro: 0n,
    refundMissingMicro: 0n,
  }
  const payment = await provider.create(blank, `${publicUrlOf(ports.publicUrl, call)}/top-up?payment=${id}`)
  await ports.store.payments.begin(id, payment.paymentId, payment.confirmationUrl)
  await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'payment.create', id, {
    amount: rubles(amountMicro),
    payment: payment.paymentId,
  })
  return wirePayment({ ...blank, paymentId: payment.paymentId, confirmationUrl: payment.confirmationUrl })
}

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
