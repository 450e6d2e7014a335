import type { Principal } from '../access/principal.ts'
import { ApiError } from '../errors.ts'
import type { Reply, Route } from '../http/edge.ts'
import { publicAddress } from '../http/public-address.ts'
import { wholeParameter } from '../http/query.ts'
import { BodyFields } from '../kinds/strict-body.ts'
import { rubles } from '../money.ts'
import type { PaymentRecord } from '../store/console-records.ts'
import type { Payment, PaymentMethod } from './payment-contract.ts'
import type { PaymentProvider, ProviderPayment } from './payment-provider.ts'
import { cursorOf, iso, isoOrNull, recordEvent, visitRoute, type CabinetCall, type CabinetPorts, type Visit } from './ports.ts'

const ID_LETTERS = 16
const KOPECK_MICRO = 10_000n

/** Top-ups with real money. The notification route exists only where a provider is set up (reliability.md 4 row 22). */
export function paymentRoutes(ports: CabinetPorts, provider: PaymentProvider | null): readonly Route<Principal>[] {
  const methods: readonly PaymentMethod[] = provider === null ? [] : [{ id: provider.id, name: provider.name, least: rubles(provider.leastMicro), most: rubles(provider.mostMicro) }]
  return [
    visitRoute(ports, 'GET /cabinet/v1/payments', async ({ call, accountId }) => {
      const limit = wholeParameter(call.query, 'limit', 1, 300) ?? 50
      const { data } = await ports.store.payments.list({ accountId, beforeMs: cursorOf(call.query), limit, offset: 0 })
      return { methods, data: data.map(wirePayment), next_cursor: data.length < limit ? null : String(data.at(-1)?.createdAtMs ?? 0) }
    }),
    visitRoute(ports, 'POST /cabinet/v1/payments', (visit) => order(ports, provider, visit), 201),
    visitRoute(ports, 'GET /cabinet/v1/payments/:id', async (visit) => wirePayment(await ownOrder(ports, visit))),
    visitRoute(ports, 'POST /cabinet/v1/payments/:id/check', async (visit) => {
      const found = await ownOrder(ports, visit)
      if (provider !== null && found.state === 'pending' && found.paymentId !== null) await settle(ports, provider, found.paymentId, visit.call)
      return wirePayment(await ownOrder(ports, visit))
    }),
    ...(provider === null ? [] : [notificationRoute(ports, provider)]),
  ]
}

function notificationRoute(ports: CabinetPorts, provider: PaymentProvider): Route<Principal> {
  return {
    method: 'POST', path: `/cabinet/v1/payments/notifications/${provider.id}`, plane: 'open', body: 'json',
    refuse: (_request, clientIp) => provider.foreign(clientIp),
    handle: async (call): Promise<Reply> => {
      const paymentId = provider.notified(call.json)
      // What is not about one of our orders is answered as if it were, so that it is not sent for a day.
      if (paymentId !== null) await settle(ports, provider, paymentId, call)
      return { status: 200, body: { received: true } }
    },
  }
}

export function wirePayment(payment: PaymentRecord): Payment {
  return {
    id: payment.id,
    method: 'yookassa',
    amount: rubles(payment.amountMicro),
    currency: 'RUB',
    state: payment.state,
    confirmation_url: payment.state === 'pending' ? payment.confirmationUrl : null,
    created_at: iso(payment.createdAtMs),
    paid_at: isoOrNull(payment.paidAtMs),
  }
}

async function ownOrder({ store }: CabinetPorts, { call, accountId }: Visit): Promise<PaymentRecord> {
  const id = call.params['id'] ?? ''
  const found = await store.payments.get(id)
  if (found === null || found.accountId !== accountId) throw new ApiError('not_found', `Payment '${id.slice(0, 80)}' not found`)
  return found
}

async function order(ports: CabinetPorts, provider: PaymentProvider | null, { call, accountId, user }: Visit): Promise<Payment> {
  const fields = new BodyFields(call.json)
  const method = fields.requiredText('method', 40)
  const amountMicro = fields.amount('amount') ?? 0n
  fields.done()
  if (provider === null || method !== provider.id) throw new ApiError('invalid_input', `method: '${method}' is not set up here`)
  if (amountMicro < provider.leastMicro || amountMicro > provider.mostMicro || amountMicro % KOPECK_MICRO !== 0n) {
    throw new ApiError('invalid_input', `amount: must be whole kopecks, from ${rubles(provider.leastMicro)} to ${rubles(provider.mostMicro)} RUB`)
  }
  const id = `pay_${ports.ids.letters(ID_LETTERS)}`
  const made = { id, accountId, method, amountMicro, currency: 'RUB', createdAtMs: ports.clock.now() }
  await ports.store.payments.create(made)
  const blank: PaymentRecord = { ...made, state: 'pending', paymentId: null, confirmationUrl: null, paidAtMs: null }
  const payment = await provider.create(blank, `${publicAddress(ports.publicUrl, call)}/top-up?payment=${id}`)
  await ports.store.payments.begin(id, payment.paymentId, payment.confirmationUrl)
  await recordEvent(ports, user.email, call.clientIp, 'payment.create', id, { amount: rubles(amountMicro), payment: payment.paymentId })
  return wirePayment({ ...blank, paymentId: payment.paymentId, confirmationUrl: payment.confirmationUrl })
}

/** Asks the provider for a payment and books it if it is the one that was ordered. */
async function settle(ports: CabinetPorts, provider: PaymentProvider, paymentId: string, call: CabinetCall): Promise<void> {
  const payment = await provider.find(paymentId)
  const found = payment?.orderId === undefined || payment.orderId === null ? null : await ports.store.payments.get(payment.orderId)
  if (payment === null || found === null || found.method !== provider.id) return
  const difference = differenceOf(found, payment)
  if (difference !== null) {
    ports.notice(`Payment ${paymentId} is not what was ordered (${difference}): nothing was booked for ${found.id}`)
    return
  }
  if (payment.state === 'cancelled') return ports.store.payments.cancel(found.id)
  if (payment.state !== 'succeeded') return
  // A crash between the provider's answer and our note of it left the order without a payment id.
  if (found.paymentId === null) await ports.store.payments.begin(found.id, paymentId, null)
  if (!(await ports.store.payments.pay({ id: found.id, paymentId, atMs: ports.clock.now() }))) return
  await recordEvent(ports, provider.id, call.clientIp, 'payment.paid', found.id, { account: found.accountId, amount: rubles(found.amountMicro), payment: paymentId })
}

function differenceOf(ordered: PaymentRecord, payment: ProviderPayment): string | null {
  if (ordered.paymentId !== null && ordered.paymentId !== payment.paymentId) return 'another payment'
  if (ordered.amountMicro !== payment.amountMicro) return 'another amount'
  return ordered.currency === payment.currency ? null : 'another currency'
}
