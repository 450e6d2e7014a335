import type { Answer, ApiClient } from './api-client.ts'
import type { App } from '../../src/app/app.ts'

export const PASSWORD = 'seven quiet lanterns'

/** A browser on the console: stores its cookie and sends requests as our own page does. */
export class ConsoleClient {
  readonly #server: ApiClient
  #cookie = ''
  #device = ''

  constructor(server: ApiClient, cookie = '') {
    this.#server = server
    this.#cookie = cookie
  }

  get cookie(): string {
    return this.#cookie
  }

  async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const sent = [this.#cookie, this.#device].filter((cookie) => cookie !== '').join('; ')
    const answer = await this.#server.request(method, path.startsWith('/') ? path : `/cabinet/v1/${path}`, {
      ...(body === undefined ? {} : { body }),
      headers: { 'sec-fetch-site': 'same-origin', ...(sent === '' ? {} : { cookie: sent }), ...headers },
    })
    for (const [, set = ''] of (answer.headers['set-cookie'] ?? '').matchAll(/^([^=;\n]+=[^;\n]*)/gm)) {
      if (set.includes('tg_sid=')) this.#cookie = set.endsWith('=') ? '' : set
      else if (set.startsWith('tg_device=')) this.#device = set
    }
    return answer
  }

  get(path: string): Promise<Answer> {
    return this.request('GET', path)
  }

  post(path: string, body: unknown = {}): Promise<Answer> {
    return this.request('POST', path, body)
  }

  signIn(email: string, password = PASSWORD, code?: string): Promise<Answer> {
    return this.post('sign-in', { email, password, ...(code === undefined ? {} : { code }) })
  }

  /** A copy of the browser with another session, or with none. */
  copy(): ConsoleClient {
    return new ConsoleClient(this.#server, this.#cookie)
  }
}

let people = 0

/** A new user with a new account, signed in. */
export async function signedUp(
  server: ApiClient,
  email = `person${(people += 1)}@example.com`,
): Promise<{
  readonly browser: ConsoleClient
  readonly email: string
  readonly accountId: string
  readonly userId: string
}> {
  const browser = new ConsoleClient(server)
  const answer = await browser.post('sign-up', { email, password: PASSWORD })
  if (answer.status !== 201) throw new Error(`sign-up answered ${answer.status}: ${answer.text}`)
  return { browser, email, accountId: answer.body.profile.account_id, userId: answer.body.profile.user_id }
}

/** An administrator, created with a set-up link. */
export async function administrator(server: ApiClient, email: string): Promise<ConsoleClient> {
  const invited = await server.admin('POST', '/admin/v1/administrators', { email })
  const token = new URL(String(invited.body.link)).searchParams.get('token')
  const browser = new ConsoleClient(server)
  const made = await browser.post('setup', { token, password: PASSWORD })
  if (made.status !== 201) throw new Error(`setup answered ${made.status}: ${made.text}`)
  return browser
}

/** An operator who looks at an account; `home` is their own. */
export async function viewer(
  server: ApiClient,
  email: string,
  account: string,
): Promise<{ readonly browser: ConsoleClient; readonly home: string }> {
  const browser = await administrator(server, email)
  const home = (await browser.get('session')).body.profile.account_id
  const answer = await browser.post('account', { account })
  if (answer.status !== 200) throw new Error(`account answered ${answer.status}: ${answer.text}`)
  return { browser, home }
}

/** Tops up an account. */
export async function topUp(server: ApiClient, accountId: string, amount: number): Promise<void> {
  const answer = await server.admin('POST', `/admin/v1/accounts/${accountId}/ledger`, {
    kind: 'topup',
    amount,
    reason: 'test',
    reference: `test-${accountId}-${amount}`,
  })
  if (answer.status !== 201) throw new Error(`top-up answered ${answer.status}: ${answer.text}`)
}

/** A receiver of the operator and one of a customer, each with a message that was given up. */
export async function madeNotice(
  server: ApiClient & { readonly app: Pick<App, 'store'> },
  customer: ConsoleClient,
): Promise<{
  readonly channel: string
  readonly delivery: string
  readonly own: string
  readonly ownDelivery: string
}> {
  const { notices } = server.app.store
  const body = { target: 'https://hooks.example.com/', kinds: [] }
  const dead = async (): Promise<string> => {
    await notices.address(Date.now())
    const [taken] = await notices.take({ operator: 1, well: 1, troubled: 1 }, Date.now(), Date.now() + 60_000)
    if (taken === undefined) throw new Error('The test message was taken by somebody else.')
    await notices.ended(taken.delivery, { error: 'given up', dueAtMs: null }, Date.now())
    return taken.delivery.id
  }
  const channel = (await server.admin('POST', '/admin/v1/notices/channels', body)).body.id
  await server.admin('POST', `/admin/v1/notices/channels/${channel}/test`, {})
  const delivery = await dead()
  const own = (await customer.post('notices/channels', body)).body.id
  await customer.post(`notices/channels/${own}/test`)
  return { channel, delivery, own, ownDelivery: await dead() }
}
