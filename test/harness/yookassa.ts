import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

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
 * The part of YooKassa's API v3 that the server uses: `POST /payments`, `GET /payments/{id}`, `GET /refunds/{id}`. The
 * test makes the payments and sends the notifications.
 */
export interface YookassaImitation {
  readonly url: string
  readonly payments: Map<string, Payment>
  readonly refunds: Map<string, Refund>
  /** `METHOD path` of every request with valid credentials. */
  readonly asked: string[]
  /** Answers 500 while set. */
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
  const server = createServer((request, response) => {
    const reply = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    void answer(request).then(([status, body]) => reply(status, body))
  })
  const answer = async (request: IncomingMessage): Promise<[number, unknown]> => {
    if (request.headers.authorization !== authorization) return [401, { type: 'error', code: 'invalid_credentials' }]
    if (state.broken) return [500, { type: 'error', code: 'internal_server_error' }]
    state.asked.push(`${request.method} ${request.url}`)
    if (request.method === 'GET') {
      const [, what, id = ''] = request.url?.split('/') ?? []
      const found = what === 'refunds' ? state.refunds.get(id) : state.payments.get(id)
      return found === undefined ? [404, { type: 'error', code: 'not_found' }] : [200, found]
    }
    const key = request.headers['idempotence-key']
    if (typeof key !== 'string') return [400, { type: 'error', code: 'invalid_request', parameter: 'Idempotence-Key' }]
    const known = byIdempotenceKey.get(key)
    if (known !== undefined) return [200, known]
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    const body = JSON.parse(Buffer.concat(chunks).toString())
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
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A listening TCP server has an address object.
  const { port } = server.address() as AddressInfo
  return Object.assign(state, {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}
