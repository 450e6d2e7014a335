import { request as undiciRequest, type Dispatcher } from 'undici'
import assert from 'node:assert/strict'
import { admitted } from './patience.ts'

export interface Answer {
  readonly status: number
  readonly headers: Record<string, string>
  // A test reads whatever the server sent; its assertions are the type check.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
  readonly text: string
}

export interface RequestOptions {
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  /** Separate connections, for example from another address. */
  readonly dispatcher?: Dispatcher
}

/**
 * Sends requests to a running server, as an administrator and as a customer, and checks each answer against its route's
 * contract.
 */
export class ApiClient {
  readonly url: string
  readonly adminToken: string

  constructor(url: string, adminToken: string) {
    this.url = url
    this.adminToken = adminToken
  }

  admin(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.request(method, path, { key: this.adminToken, ...(body === undefined ? {} : { body }) })
  }

  post(path: string, key: string, body: unknown): Promise<Answer> {
    return this.request('POST', path, { key, body })
  }

  get(path: string, key: string): Promise<Answer> {
    return this.request('GET', path, { key })
  }

  async createAccount(
    options: { balance?: number; key?: Record<string, unknown>; account?: Record<string, unknown> } = {},
  ): Promise<{ id: string; key: string; keyId: string }> {
    const account = await this.#created('/admin/v1/accounts', { name: 'test', ...options.account })
    const balance = options.balance ?? 100
    if (balance > 0)
      await this.#created(`/admin/v1/accounts/${account['id']}/ledger`, {
        kind: 'topup',
        amount: balance,
        reason: 'test',
        reference: `test-${account['id']}`,
      })
    const key = await this.#created(`/admin/v1/accounts/${account['id']}/keys`, { name: 'test', ...options.key })
    return { id: String(account['id']), key: String(key['key']), keyId: String(key['id']) }
  }

  async #created(path: string, body: unknown): Promise<Record<string, unknown>> {
    const answer = await admitted(() => this.admin('POST', path, body))
    if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`)
    return answer.body
  }

  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const raw = typeof options.body === 'string' || Buffer.isBuffer(options.body)
    const body =
      options.body === undefined ? null : raw ? (options.body as string | Buffer) : JSON.stringify(options.body)
    const response = await undiciRequest(`${this.url}${path}`, {
      method: method as 'GET',
      body,
      ...(options.dispatcher === undefined ? {} : { dispatcher: options.dispatcher }),
      headers: {
        ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
    })
    const text = await response.body.text()
    const headers = Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join('\n') : String(value),
      ]),
    )
    const contentType = headers['content-type'] ?? ''
    const parsed =
      contentType.includes('json') && !contentType.includes('ndjson') && text !== '' ? JSON.parse(text) : null
    const { checkAnswer } = await import('./contract-check.ts')
    checkAnswer(method, path, response.statusCode, contentType, parsed)
    return { status: response.statusCode, headers, text, body: parsed }
  }
}

/** Runs `tollgate audit` on a running server, as each test does with its server; fails with every violation. */
export async function auditClean(server: ApiClient): Promise<void> {
  const audit = await reportOf(server)
  if (audit === null) return
  assert.equal(audit.status, 200, `the audit could not run: ${audit.text}`)
  assert.equal(audit.body.violations, 0, audit.text)
}

/** null = the server no longer listens. */
async function reportOf(server: ApiClient): Promise<Answer | null> {
  try {
    return await server.admin('GET', '/admin/v1/audit')
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ECONNREFUSED') return null
    throw thrown
  }
}
