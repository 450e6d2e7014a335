import type { App } from '../../src/app.ts'
import type { ApiClient } from './api-client.ts'
import type { ConsoleClient } from './console-client.ts'

/** A receiver of the operator's that nothing is sent to, a dead message to it, and a receiver of a customer's. */
export async function madeNotice(
  server: ApiClient & { readonly app: Pick<App, 'store'> },
  customer: ConsoleClient,
): Promise<{ readonly channel: string; readonly delivery: string; readonly own: string }> {
  const { notices } = server.app.store
  const body = { target: 'https://hooks.example.com/', kinds: [] }
  const channel = (await server.admin('POST', '/admin/v1/notices/channels', body)).body.id
  await server.admin('POST', `/admin/v1/notices/channels/${channel}/test`, {})
  await notices.address(Date.now())
  const [taken] = await notices.take({ operator: 1, well: 0, troubled: 0 }, Date.now(), Date.now() + 60_000)
  if (taken === undefined) throw new Error('The test message was taken by somebody else.')
  await notices.ended(taken.delivery, { error: 'given up', dueAtMs: null }, Date.now())
  const own = (await customer.post('notices/channels', body)).body.id
  return { channel, delivery: taken.delivery.id, own }
}
