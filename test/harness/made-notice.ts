import type { App } from '../../src/app/app.ts'
import type { ApiClient } from './api-client.ts'
import type { ConsoleClient } from './console-client.ts'

/** A receiver of the operator's and one of a customer's, with a dead message to each. */
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
