import { listen, sendJson, type Received } from './scripted-upstream.ts'

interface Payment {
  id: string
  status: 'pending' | 'waiting_for_capture' | 'succeeded' | 'canceled'
  paid: boolean
  amount: { value: string; currency: string }
  metadata: Record<string, string>
  confirmation?: { type: 'redirect'; confirmation_url: string; return_url: string }
}

interface Refund {
  id: string
  payment_id: string
  status: 'pending' | 'succeeded' | 'canceled'
  amount: { value: string; currency: string }
}

/**
 * An imitation of the part of YooKassa's API v3 that the server uses: `POST /payments`, `GET /payments/{id}`, `GET
 * /refunds/{id}`. The test makes the payments and sends the notifications.
 */
export interface YookassaImitation {
  readonly url: string
  readonly payments: Map<string, Payment>
  readonly refunds: Map<string, Refund>
  /** `METHOD path` of every request with valid credentials. */
  readonly asked: string[]
  /** While true, every request is answered with 500. */
  broken: boolean
  close(): Promise<void>
}

export async function startYookassa(shopId: string, secretKey: string): Promise<YookassaImitation> {
  const authorization = `Basic ${Buffer.from(`${shopId}:${secretKey}`).toString('base64')}`
  const state = {
    payments: new Map<string, Payment>(),
    refunds: new Map<string, Refund>(),
    asked: [] as string[],
    broken: false,
  }
  const byIdempotenceKey = new Map<string, Payment>()
  const answer = ({ method, path, headers, json }: Received): [number, unknown] => {
    if (headers.authorization !== authorization) return [401, { type: 'error', code: 'invalid_credentials' }]
    if (state.broken) return [500, { type: 'error', code: 'internal_server_error' }]
    state.asked.push(`${method} ${path}`)
    if (method === 'GET') {
      const [, what, id = ''] = path.split('/')
      const found = what === 'refunds' ? state.refunds.get(id) : state.payments.get(id)
      return found === undefined ? [404, { type: 'error', code: 'not_found' }] : [200, found]
    }
    const key = headers['idempotence-key']
    if (typeof key !== 'string') return [400, { type: 'error', code: 'invalid_request', parameter: 'Idempotence-Key' }]
    const known = byIdempotenceKey.get(key)
    if (known !== undefined) return [200, known]
    const body = Object(json)
    const id = `2d8b6f9a-000f-5000-8000-${String(state.payments.size + 1).padStart(12, '0')}`
    const payment: Payment = {
      id,
      status: 'pending',
      paid: false,
      amount: body.amount,
      metadata: body.metadata,
      confirmation: {
        type: 'redirect',
        confirmation_url: `https://yoomoney.example/pay?orderId=${id}`,
        return_url: body.confirmation.return_url,
      },
    }
    state.payments.set(id, payment)
    byIdempotenceKey.set(key, payment)
    return [200, payment]
  }
  const { url, close } = await listen((response, request) => {
    const [status, body] = answer(request)
    sendJson(response, body, status)
  })
  return Object.assign(state, {
    url,
    close,
  })
}
