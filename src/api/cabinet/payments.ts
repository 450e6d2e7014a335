import type { Principal } from '../../access/principal.ts'
import { fieldError } from '../../base/refusals.ts'
import type { Reply, Route } from '../../http/edge.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import type { Judged } from '../../kinds/fields/strict-body.ts'
import { microOf, rubles } from '../../base/money.ts'
import type { PaymentRecord } from '../../store/accounts/payment-store.ts'
import { Payment, type PaymentBody, type PaymentMethod } from './money-contract.ts'
import type { PaymentBooking } from './payment-booking.ts'
import type { PaymentNotice, PaymentProvider } from './payment-provider.ts'
import { notFound, recordEvent } from '../records/ports.ts'
import { listVisit, visitRoute, type CabinetPorts, type Visit } from './ports.ts'
import { wire } from '../../base/wire-route.ts'

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
