import { isIP } from 'node:net'
import { unavailable, type ApiError } from '../../base/errors.ts'
import { reasonError } from '../../base/refusals.ts'
import { proxyList, type IpList } from '../../http/client-ip.ts'
import { isObject } from '../../kinds/fields/body-fields.ts'
import { bodyBytes, request } from '../../base/http-request.ts'
import { decimalText, MICRO_PER_RUB, parseDecimal, shift, type Micro } from '../../base/money.ts'
import type { PaymentRecord } from '../../store/accounts/payment-store.ts'
import type { PaymentNotice, PaymentProvider, ProviderPayment, ProviderRefund, YookassaConfig } from './payments.ts'

const TIMEOUT_MS = 15_000
const BYTES_MAX = 262_144
const PAYMENT_ID = /^[A-Za-z0-9-]{10,64}$/
const OBJECTS: ReadonlyMap<string, PaymentNotice['of']> = new Map([
  ['payment', 'payment'],
  ['refund', 'refund'],
])
const STATES: ReadonlyMap<string, ProviderPayment['state']> = new Map([
  ['succeeded', 'succeeded'],
  ['canceled', 'cancelled'],
])

/**
 * YooKassa's API v3. Its notifications carry no signature: they are accepted only from its addresses, and each is only
 * a reason to ask for the payment.
 */
export class Yookassa implements PaymentProvider {
  readonly id = 'yookassa'
  readonly name = 'YooKassa'
  readonly leastMicro = 10n * MICRO_PER_RUB
  readonly mostMicro = 350_000n * MICRO_PER_RUB
  readonly #options: YookassaConfig
  readonly #networks: IpList

  constructor(options: YookassaConfig) {
    this.#options = options
    this.#networks = proxyList(options.networks)
  }

  async create(order: PaymentRecord, returnUrl: string): Promise<ProviderPayment> {
    const body = {
      amount: { value: valueText(order.amountMicro), currency: order.currency },
      capture: true,
      confirmation: { type: 'redirect', return_url: returnUrl },
      description: `Top-up ${order.id}`,
      metadata: { order_id: order.id },
    }
    // A repeat with the order's idempotence key makes no second payment.
    const answer = await this.#ask(
      'POST',
      '/payments',
      { 'idempotence-key': order.id, 'content-type': 'application/json' },
      JSON.stringify(body),
    )
    const payment = answer.status === 200 ? readPayment(answer.body) : null
    if (payment === null) throw silent(`YooKassa answered ${answer.status} to a new payment`)
    return payment
  }

  async find(paymentId: string, stop?: AbortSignal): Promise<ProviderPayment | null> {
    const body = await this.#look('payments', paymentId, stop)
    const payment = body === null ? null : readPayment(body)
    if (body !== null && payment?.paymentId !== paymentId)
      throw silent('YooKassa answered something else when asked for a payment')
    return payment
  }

  async findRefund(refundId: string): Promise<ProviderRefund | null> {
    const body = await this.#look('refunds', refundId)
    const refund = body === null ? null : readRefund(body)
    if (body !== null && refund?.refundId !== refundId)
      throw silent('YooKassa answered something else when asked for a refund')
    return refund
  }

  foreign(clientIp: string): ApiError | null {
    const family = isIP(clientIp)
    const known = family !== 0 && this.#networks.has(clientIp)
    return known ? null : reasonError('only_provider')
  }

  notified(body: unknown): PaymentNotice | null {
    const event = isObject(body) ? body['event'] : null
    const object = isObject(body) ? body['object'] : null
    const of = typeof event === 'string' ? OBJECTS.get(event.split('.', 1)[0] ?? '') : undefined
    if (of === undefined || !isObject(object)) return null
    const { id } = object
    return typeof id === 'string' && PAYMENT_ID.test(id) ? { of, id } : null
  }

  /** The object of that id; null = there is none. */
  async #look(what: 'payments' | 'refunds', id: string, stop?: AbortSignal): Promise<unknown> {
    if (!PAYMENT_ID.test(id)) return null
    const answer = await this.#ask('GET', `/${what}/${id}`, {}, null, stop)
    if (answer.status === 404) return null
    if (answer.status !== 200) throw silent(`YooKassa answered ${answer.status} when asked for one of its ${what}`)
    return answer.body
  }

  async #ask(
    method: 'GET' | 'POST',
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string | null,
    stop?: AbortSignal,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const { apiUrl, shopId, secretKey } = this.#options
    const authorization = `Basic ${Buffer.from(`${shopId}:${secretKey}`).toString('base64')}`
    try {
      // undici's `request` follows no redirect, so the answer comes from the configured address.
      const timeout = AbortSignal.timeout(TIMEOUT_MS)
      const answer = await request(`${apiUrl}${path}`, {
        method,
        body,
        headers: { ...headers, authorization, accept: 'application/json' },
        signal: stop === undefined ? timeout : AbortSignal.any([timeout, stop]),
      })
      return { status: answer.statusCode, body: JSON.parse(await readText(answer.body)) }
    } catch (cause) {
      throw silent('YooKassa did not answer', cause)
    }
  }
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const bytes = await bodyBytes(body, BYTES_MAX)
  if (bytes === null) throw new Error(`the answer is longer than ${BYTES_MAX} bytes`)
  return bytes.toString('utf8')
}

/** null for a body that is not a payment. */
function readPayment(body: unknown): ProviderPayment | null {
  if (!isObject(body)) return null
  const { id, status, paid, amount, metadata, confirmation } = body
  if (typeof id !== 'string' || typeof status !== 'string' || !isObject(amount)) return null
  const { value, currency } = amount
  const amountMicro = typeof value === 'string' ? microOf(value) : null
  if (amountMicro === null || typeof currency !== 'string') return null
  const state = STATES.get(status) ?? 'pending'
  const url = isObject(confirmation) ? confirmation['confirmation_url'] : null
  const orderId = isObject(metadata) ? metadata['order_id'] : null
  return {
    paymentId: id,
    // YooKassa documents no `succeeded` without `paid`: no money is booked on it.
    state: state === 'succeeded' && paid !== true ? 'pending' : state,
    amountMicro,
    currency,
    orderId: typeof orderId === 'string' ? orderId : null,
    confirmationUrl: typeof url === 'string' && /^https?:\/\//.test(url) ? url : null,
  }
}

/** null for a body that is not a refund. */
function readRefund(body: unknown): ProviderRefund | null {
  if (!isObject(body)) return null
  const { id, payment_id: paymentId, status, amount } = body
  if (typeof id !== 'string' || typeof paymentId !== 'string' || typeof status !== 'string' || !isObject(amount))
    return null
  const { value, currency } = amount
  const amountMicro = typeof value === 'string' ? microOf(value) : null
  if (amountMicro === null || typeof currency !== 'string') return null
  return { refundId: id, paymentId, state: STATES.get(status) ?? 'pending', amountMicro, currency }
}

function microOf(value: string): Micro | null {
  const decimal = parseDecimal(value)
  const micro = decimal === null ? null : shift(decimal, 6)
  return micro !== null && micro.scale === 0 && micro.digits > 0n ? micro.digits : null
}

/** Rubles with two decimals, as YooKassa requires; the amount is already in whole kopecks. */
function valueText(amountMicro: Micro): string {
  const [whole = '0', fraction = ''] = decimalText({ digits: amountMicro, scale: 6 }).split('.')
  return `${whole}.${fraction.padEnd(2, '0')}`
}

function silent(message: string, cause: unknown = new Error(message)): ApiError {
  return unavailable('The payment provider does not answer. Try again in a minute', 60, 'payment_provider', cause)
}
