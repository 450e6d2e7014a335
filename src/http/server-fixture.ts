import assert from 'node:assert/strict'
import { after, before, beforeEach } from 'node:test'
import { exchangeRaw, isWhole, parseRaw, type RawAnswer } from '../../test/harness/raw-http.ts'
import { ApiError } from '../base/errors.ts'
import { systemClock } from '../base/clock.ts'
import { randomIds } from '../base/ids.ts'
import { HIJACKED, type Call, type MaintenanceNotice, type Route, type Edge, type EdgeOptions } from './edge.ts'
import type { LogFields } from './request-log.ts'
import { createEdge } from './server.ts'

export const lines: LogFields[] = []
export const bugs: unknown[] = []
export const notices: string[] = []
let maintenance: MaintenanceNotice | null = null
export let handled = 0
let edge: Edge
export let port = 0

const echo = (call: Call<string>): { status: number; body: unknown } => {
  handled += 1
  return {
    status: 200,
    body: {
      json: call.json,
      params: call.params,
      q: call.query.get('q'),
      bytes: call.rawBody?.length,
      principal: call.principal,
    },
  }
}

const routes: Route<string>[] = [
  { method: 'GET', path: '/v1/health', plane: 'open', body: 'none', handle: echo },
  { method: 'POST', path: '/v1/echo', plane: 'key', body: 'json', handle: async (call) => echo(call) },
  {
    method: 'POST',
    path: '/open',
    plane: 'open',
    body: 'json',
    refuse: ({ headers }) => (headers.origin === undefined ? null : new ApiError('access_denied', 'from elsewhere')),
    handle: echo,
  },
  { method: 'POST', path: '/v1/audio', plane: 'key', body: 'json-or-multipart', handle: echo },
  { method: 'GET', path: '/v1/models/*id', plane: 'key', body: 'none', handle: echo },
  { method: 'POST', path: '/admin/v1/accounts', plane: 'admin', scope: 'accounts:write', body: 'json', handle: echo },
  {
    method: 'GET',
    path: '/v1/bug',
    plane: 'open',
    body: 'none',
    handle: () => {
      throw new Error('secret detail')
    },
  },
  {
    method: 'GET',
    path: '/v1/refused',
    plane: 'open',
    body: 'none',
    handle: async () => {
      throw new ApiError('service_unavailable', 'busy', { retryAfterSeconds: 61, refusedBy: 'test' })
    },
  },
  {
    method: 'GET',
    path: '/v1/odd',
    plane: 'open',
    body: 'none',
    handle: () => ({ status: 200, body: 'x', contentType: 'text/plain', headers: { 'Cache-Control': 'max-age=1' } }),
  },
  {
    method: 'GET',
    path: '/v1/bigint',
    plane: 'open',
    body: 'none',
    handle: () => ({ status: 200, body: { amount: 1n } }),
  },
  {
    method: 'GET',
    path: '/v1/endless',
    plane: 'open',
    body: 'none',
    handle: (call) => {
      call.response.writeHead(200, call.baseHeaders).write('on and on')
      return HIJACKED
    },
  },
  {
    method: 'GET',
    path: '/v1/cut',
    plane: 'open',
    body: 'none',
    handle: async (call) => {
      const { response, baseHeaders } = call
      await new Promise((resolve) => response.writeHead(200, baseHeaders).write('half', resolve))
      throw new Error('after the head')
    },
  },
  {
    method: 'GET',
    path: '/v1/stream',
    plane: 'open',
    body: 'none',
    handle: (call) => {
      call.log.set({ model: 'm', prompt: 'must not be printed' })
      call.response.writeHead(200, call.baseHeaders).end('streamed')
      return HIJACKED
    },
  },
]

export function newEdge(options: Partial<EdgeOptions<string>> = {}): Edge {
  return createEdge<string>({
    routes,
    access: {
      admit(request, plane) {
        const headers = { 'x-ratelimit-limit': '300', 'x-ratelimit-remaining': '299', 'x-ratelimit-reset': '1' }
        const { authorization } = request.headers
        if (authorization === 'Bearer late')
          return new Promise((resolve) => setImmediate(() => resolve({ principal: 'late', headers })))
        if (authorization === 'Bearer good') return { principal: 'someone', headers: plane === 'key' ? headers : {} }
        if (authorization === 'Bearer third' || authorization === 'Bearer fourth')
          return { principal: authorization, headers }
        return { error: new ApiError('missing_api_key', 'no key'), headers: { ...headers, 'x-ratelimit-limit': '60' } }
      },
      anonymousHeaders: () => ({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '1' }),
    },
    clock: systemClock,
    ids: randomIds(),
    log: { line: (fields) => lines.push({ ...fields }), bug: (thrown) => bugs.push(thrown) },
    maintenance: () => maintenance,
    isSecure: ({ headers }) => headers['x-forwarded-proto'] === 'https',
    trustedProxies: [],
    describe: (principal) => ({ account_id: principal }),
    timeouts: { headers: 300, request: 400, upload: 800, check: 100 },
    bodyBudgetBytes: 12_000_000,
    accountOf: (principal) => principal,
    notice: (message) => notices.push(message),
    ...options,
  })
}

export async function send(
  head: string,
  headers: Record<string, string> = {},
  body: string | Buffer = '',
  at = port,
): Promise<RawAnswer> {
  const all: Record<string, string> = {
    Host: 'x',
    Connection: 'close',
    ...(body.length > 0 ? { 'Content-Length': String(Buffer.byteLength(body)) } : {}),
    ...headers,
  }
  const text = `${head} HTTP/1.1\r\n${Object.entries(all)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
  return parseRaw(
    await exchangeRaw(at, Buffer.concat([Buffer.from(text, 'latin1'), Buffer.from(body)]), { until: isWhole }),
  )
}

/** Lets turns of the event loop pass until the condition holds; the runner's own limit ends an endless wait. */
export async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setImmediate(resolve))
}

export function errorType(answer: RawAnswer): string {
  const { error } = JSON.parse(answer.body)
  assert.equal(error.code, answer.status)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  return error.metadata.error_type
}

export const KEY = { Authorization: 'Bearer good' }
export const JSON_TYPE = { 'Content-Type': 'application/json' }

/** Sets the maintenance notice that the edge sees until the next test. */
export function maintain(notice: MaintenanceNotice | null): void {
  maintenance = notice
}

/** Starts an edge for the tests of the calling file. */
export function serveEdge(): void {
  before(async () => {
    edge = newEdge()
    port = (await edge.listen('127.0.0.1', 0)).port
  })

  after(() => edge.close(1_000))

  beforeEach(() => {
    maintenance = null
    handled = 0
    lines.length = 0
    bugs.length = 0
    notices.length = 0
  })
}
